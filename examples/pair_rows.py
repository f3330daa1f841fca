"""
Pairs of like rows
==================

Pair the rows of a data frame: people of similar age and income, so that one of each pair may get the treatment.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from scipy.spatial import cKDTree

import troth

rng = np.random.default_rng(0)
people = pd.DataFrame({"age": rng.integers(18, 80, 1000), "income": rng.lognormal(10, 0.5, 1000).round()})
place = (people - people.mean()) / people.std()

# Who could be paired with whom: each person with the ten nearest, the nearer the heavier.
distance, near = cKDTree(place).query(place, k=11)
likeness = pd.DataFrame(
    {
        "source": np.repeat(people.index, 10),
        "target": near[:, 1:].ravel(),
        "weight": 1 / (0.01 + distance[:, 1:].ravel()),
    }
)

matching = troth.match(likeness, certify=True)
pairs = matching.to_table(like=likeness)

both = pairs.join(people.add_suffix("_a"), on="source").join(people.add_suffix("_b"), on="target")
print(both.head(), "\n")
apart = np.abs(place.to_numpy()[pairs["source"]] - place.to_numpy()[pairs["target"]]).mean(axis=0)
chance = np.abs(place.to_numpy()[::2] - place.to_numpy()[1::2]).mean(axis=0)
print(
    f"{len(pairs)} pairs of {len(people)} people, at least {matching.certificate.ratio:.0%} of the best total likeness"
)
for name, here, there in zip(people, apart, chance, strict=True):
    print(f"{name}: {here:.3f} standard deviations apart within pairs, {there:.3f} within pairs by chance")

figure, ax = plt.subplots(figsize=(7, 4.5), layout="constrained")
ages, incomes = (both[[f"{name}_a", f"{name}_b"]].to_numpy().T for name in people)
ax.plot(ages, incomes, "o-", color="#d9480f", markersize=2.5, linewidth=1.2)
ax.set(xlabel="age", ylabel="income", yscale="log", title=f"{len(pairs)} pairs")
plt.show()
