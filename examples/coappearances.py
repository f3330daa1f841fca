"""
Who meets most often
====================

Pairs of characters of Les Misérables who meet most often, and how far from the best pairing they are.
"""

import matplotlib.pyplot as plt
import networkx as nx

import troth

G = nx.les_miserables_graph()  # an edge weighs the number of chapters in which its two ends appear together
m = troth.match(G)
assert nx.is_maximal_matching(G, {tuple(pair) for pair in m.edges()}, backend="troth")

for u, v in sorted(m.edges().tolist(), key=lambda pair: -G.edges[pair]["weight"]):
    print(f"{u:>18} {v:<18}{G.edges[u, v]['weight']:3}")
optimum = sum(G.edges[pair]["weight"] for pair in nx.max_weight_matching(G))
print(f"{m.weight} chapters in all, where the optimum has {optimum}")

figure, ax = plt.subplots(figsize=(10, 10), layout="constrained")
troth.draw(G, m, ax=ax, labels=True)
plt.show()
