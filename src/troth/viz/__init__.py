"""Pictures of graphs and matchings."""

from troth.viz.drawing import draw

__all__ = ["draw"]
