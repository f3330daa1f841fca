"""The cluster: one matching by many processes, each with a part of the graph.

``load``, ``from_graph`` and ``scatter`` give every rank its part, ``match`` matches, ``verify`` checks and certifies;
all ranks call each of them together. The mates equal those of every other deterministic engine, for any number of ranks
and any partition.

>>> import troth.mpi                                                            # doctest: +SKIP
>>> g = troth.mpi.load("rmat:scale=20", partition="block")                      # doctest: +SKIP
>>> m = troth.mpi.match(g)                                                      # doctest: +SKIP
>>> m.weight, m.cardinality, m.mate[:3]  # mate: of this rank's own vertices    # doctest: +SKIP
"""

from troth.mpi.checking import verify
from troth.mpi.loading import from_graph, load
from troth.mpi.result import DistMatching, free, match
from troth.mpi.scattering import scatter
from troth.ranks.graph import DistGraph
from troth.ranks.job import agreeing, ending_the_job, launched_rank, launcher, world

__all__ = [
    "DistGraph",
    "DistMatching",
    "agreeing",
    "ending_the_job",
    "free",
    "from_graph",
    "launched_rank",
    "launcher",
    "load",
    "match",
    "scatter",
    "verify",
    "world",
]
