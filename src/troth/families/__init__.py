"""Seeded graph families: the same arrays for the same words, on every machine and device, for any number of threads.

``structures.py`` says what the structures are and ``host.py`` makes them, ``weights.py`` makes the weights, ``draw.py``
their random numbers; ``spec.py`` reads what the user asked for. On a GPU ``cuda.py`` does the making;
``blocks.py`` makes lattices a block of rows at a time.
"""

from troth.families.spec import ALIASES, COMMON, FAMILIES, Family, Param, from_spec, generate, is_spec, places_of
from troth.families.weights import RULES

__all__ = ["ALIASES", "COMMON", "FAMILIES", "RULES", "Family", "Param", "from_spec", "generate", "is_spec", "places_of"]
