from troth import interop as interop
from troth import mpi as mpi
from troth import viz as viz
from troth.api.assigning import Assignment as Assignment
from troth.api.assigning import assign as assign
from troth.api.calls import match as match
from troth.api.calls import strongest as strongest
from troth.api.checking import Report as Report
from troth.api.checking import certificate as certificate
from troth.api.checking import verify as verify
from troth.api.coarsening import coarsen as coarsen
from troth.api.coarsening import hierarchy as hierarchy
from troth.api.levels import Level as Level
from troth.api.opening import as_graph as as_graph
from troth.api.opening import read as read
from troth.api.opening import write as write
from troth.api.pairing import pair_rows as pair_rows
from troth.api.proof import Certificate as Certificate
from troth.api.result import Matching as Matching
from troth.api.row_pairs import RowPairs as RowPairs
from troth.errors import TrothError as TrothError
from troth.families import generate as generate
from troth.graph import Graph as Graph
from troth.viz import draw as draw

__version__: str
__all__ = [
    "Assignment",
    "Certificate",
    "Graph",
    "Level",
    "Matching",
    "Report",
    "RowPairs",
    "TrothError",
    "__version__",
    "as_graph",
    "assign",
    "certificate",
    "coarsen",
    "draw",
    "generate",
    "hierarchy",
    "match",
    "pair_rows",
    "read",
    "strongest",
    "verify",
    "write",
]
