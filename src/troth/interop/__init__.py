"""Neighbours: one file for each package whose graphs, tables or tensors troth takes and gives."""
