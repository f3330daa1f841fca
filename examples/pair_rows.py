"""
Pairs of like people
====================

Did the treatment lower the blood pressure? The treated are older and heavier than the others, so the plain difference
says little. Each treated person is paired with an untreated one of like age, income, weight and blood pressure before.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import troth

# %%
# Three thousand people, with units. Doctors treat the older and the heavier, of which too few are left to compare with;
# the treatment lowers the pressure by 8 mmHg, and age raises it.

rng = np.random.default_rng(0)
n = 3000
age = rng.normal(50, 14, n).clip(18, 90)
weight = rng.normal(78, 13, n) + 0.1 * (age - 50)
people = pd.DataFrame(
    {
        "age (years)": age.round(),
        "income (EUR/year)": rng.lognormal(10.3, 0.5, n).round(-2),
        "weight (kg)": weight.round(),
        "pressure before (mmHg)": (110 + 0.5 * (age - 20) + 0.2 * weight + rng.normal(0, 9, n)).round(),
        "sex": rng.choice(["female", "male"], n),
        "treated": rng.random(n) < 1 / (1 + np.exp(1.4 - 0.11 * (age - 50) - 0.05 * (weight - 78))),
    },
    index=[f"person {number}" for number in range(1, n + 1)],
)
covariates = list(people.columns[:4])
after = people["pressure before (mmHg)"] + 0.1 * (people["age (years)"] - 50) + rng.normal(0, 6, n)
after -= 8 * people["treated"]

# %%
# Pairs of one treated and one untreated person of the same sex, at most half a standard deviation apart.

pairs = troth.pair_rows(people, "treated", on=covariates, exact="sex", caliper=0.5)
print(pairs, "\n")
print(pairs.table.head(3).to_string(index=False), "\n")
print(pairs.balance.round(3).to_string(index=False), "\n")

treated = people["treated"]
plain = after[treated].mean() - after[~treated].mean()
paired = (after[pairs.table["first"]].to_numpy() - after[pairs.table["second"]].to_numpy()).mean()
print(f"difference of all treated and untreated: {plain:+.1f} mmHg; within pairs: {paired:+.1f} mmHg (true: -8.0)")

# %%
# Who has no partner: the oldest and the heaviest of the treated. What is found holds for those who are paired.

alone = pairs.unpaired[pairs.unpaired["treated"]]
matched = people.loc[pairs.table["first"]]
print(f"{len(alone)} of {treated.sum()} treated people are unpaired: {alone['age (years)'].mean():.0f} years old,")
print(f"those who are paired {matched['age (years)'].mean():.0f} years\n")

# %%
# What ``k`` leaves out: pairs that are not among anyone's ``k`` nearest are not considered. With a small caliper there
# are few others. Without one, many want the same untreated people, and find them taken.

for k in (5, 10, 50):
    near = troth.pair_rows(people, "treated", on=covariates, exact="sex", caliper=0.5, k=k)
    far = troth.pair_rows(people, "treated", on=covariates, exact="sex", reward=3, k=k)
    print(f"k={k}: {len(near)} pairs, objective {near.objective:.1f} with the caliper;", end=" ")
    print(f"{len(far)} pairs, objective {far.objective:.1f} with a reward of 3 instead")

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
pairs.plot(left)
left.set_title(f"{len(pairs)} pairs")
for rows, colour, words in (
    (people[~treated], "#ced4da", "untreated"),
    (matched, "#d9480f", "treated, paired"),
    (alone, "#212529", "treated, unpaired"),
):
    right.plot(rows["age (years)"], rows["weight (kg)"], "o", color=colour, markersize=2.5, label=words)
right.set(xlabel="age (years)", ylabel="weight (kg)", title="who is left", ylim=(30, 150))
right.legend(frameon=False, markerscale=2)
plt.show()
