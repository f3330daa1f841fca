"""Blocks of vertices for ranks, balanced by what a vertex and its row cost."""

from __future__ import annotations

import numpy as np

from troth.ranks.exchange import starts_of
from troth.ranks.partition import VERTEX, balanced_blocks


def test_blocks_cost_the_same():
    before = starts_of(np.random.default_rng(4).zipf(2.0, 5000).clip(0, 400))
    starts = balanced_blocks(lambda v: int(before[v]), 5000, 7).starts
    cost = np.diff(VERTEX * starts + before[starts])
    assert cost.max() - cost.min() <= 2 * (400 + VERTEX)


def test_buckets_are_balanced_as_their_vertices_are():
    lengths = np.random.default_rng(5).zipf(2.0, 6400).clip(0, 400)
    before, width = starts_of(lengths), 64
    vertices = balanced_blocks(lambda v: int(before[v]), 6400, 5).starts
    buckets = balanced_blocks(lambda b: int(before[b * width]), 6400 // width, 5, width).starts * width
    assert (buckets >= vertices).all()  # each ends with the bucket that its last vertex is in
    assert (buckets < vertices + width).all()
