"""Pictures: ``draw`` a graph and its matching, or the ``steps`` of an algorithm as a page."""

from troth.viz.drawing import draw
from troth.viz.page import steps

__all__ = ["draw", "steps"]
