"""
A matching in a picture
=======================

Match a small graph and draw it: ``python examples/demo.py matching.png``.
"""

import sys

import troth

graph = "delaunay:n=400,seed=3,weights=exponential"  # drawn at its own points
m = troth.match(graph, certify=True)
name = sys.argv[1] if len(sys.argv) > 1 else "matching.png"
troth.draw(graph, m).savefig(name, dpi=150, bbox_inches="tight")
print(f"{m}\n{name}: its matched edges in bold, wider lines for heavier edges")
