"""Suitor where ranks share memory: the kernels of ``cpu/suitor.py`` with ranks for threads, which take chunks of all
vertices from one cursor.

Which kernel serves is chosen as there: no branches but where weights are wide, equal weights in waves of falling
priority. Where entries are read five times as often as there are entries, the offers begin anew on sorted rows, for
which a second window has the rows once more and 8 bytes a vertex. (Without room for that they go on as they are.)
"""

from __future__ import annotations

from typing import Any

import numpy as np

from troth.cpu.first_choices import new_scratch
from troth.cpu.offers import GROUP, NONE, Budget, Offers, new_budget
from troth.cpu.suitor import CHUNK, MOST_LOOKS, propose_sorted, propose_wide, visiting_order
from troth.cpu.suitor_unbranched import Way, group_of, new_zones, propose_unbranched
from troth.cpu.suitor_waves import goes_in_waves, propose_in_waves
from troth.kernels.team import CALLER, chunk_size, run_team, worker_rows
from troth.order import Order
from troth.ranks.graph import DistGraph
from troth.ranks.node import LINE, Node, SharedRows
from troth.rows import Rows, sort_each

STEPS = (
    1024  # parts of the budget that workers count at a time, among them; what is left at a wave's end is not counted
)


def propose_together(
    node: Node, shared: SharedRows, graph: DistGraph, order: Order, threads: int, state: np.ndarray
) -> list:
    """Offers of all vertices; ``state`` are their words, in shared memory. Returns what the kernels count."""
    state[node.share_of(graph.n)] = NONE
    order = node.share_order(graph, order)
    reset(node, shared)
    node.sync()
    if not graph.m:
        return []
    offers = Offers(state)
    limit = MOST_LOOKS * len(shared.rows.indices)
    budget = Budget(shared.spent, np.uint64(limit // (STEPS * threads * node.comm.size)), np.uint64(limit))
    if goes_in_waves(graph, order):
        counts, gave_up = _propose_in_waves(node, shared, order, threads, budget, offers)
    else:
        counts = offer_all(node, shared, shared.rows, is_flat(graph), order, threads, budget, offers)
        gave_up = _any_gave_up(node, budget)
    if gave_up:
        state[node.share_of(graph.n)] = NONE
        reset(node, shared)
        node.sync()
        more = _propose_sorted(node, shared, order, threads, offers)
        if more is None:
            more = offer_all(node, shared, shared.rows, is_flat(graph), order, threads, new_budget(), offers)
            node.sync()
        counts += more
    return counts


def reset(node: Node, shared: SharedRows) -> None:
    """Put the cursor to the first vertex, and what was read to nothing, before the next ``sync``."""
    if node.comm.rank == 0:
        shared.cursor[0], shared.spent[0] = shared.first, 0


def is_flat(graph: DistGraph) -> bool:
    """Whether all weights are equal."""
    least, greatest, _ = graph.bits_range()
    return least == greatest


def offer_all(
    node: Node, shared: SharedRows, rows: Any, flat: bool, order: Order, threads: int, budget: Budget, offers: Any
) -> list:
    """Every vertex of the node makes an offer; ``rows`` are those of ``shared``, perhaps of another type."""
    own, entries = shared.last - shared.first, max(1, len(rows.indices))
    # From the first vertex of the node, as the cursor counts; with ``down``, from the last of all to number 0.
    chunk = max(int(GROUP), chunk_size(own, threads * node.comm.size, max(2048, CHUNK * own // entries)))
    down, foreseen, _ = visiting_order(shared.rows, order, chunk) if shared.first == 0 else (False, False, False)
    scratch = new_scratch(threads, shared.rows)
    team = CALLER if threads == 1 else threads  # no thread but this one need be woken
    way = Way(down, foreseen, flat, group_of(shared.rows))
    if order.lossy:
        ways: tuple = propose_wide, shared.last, team, rows, order, way, budget, scratch
    else:
        zones = new_zones(0, own, np.empty(0, np.int32))
        ways = propose_unbranched, shared.last, team, rows, order, way, budget, zones, scratch
    return run_team(*ways, offers, chunk=chunk, cursor=shared.cursor)


def _any_gave_up(node: Node, budget: Budget) -> bool:
    """Whether the budget is spent; the same on all ranks, none of which goes on before all have come here."""
    return bool(node.sum(np.array([budget.is_spent], np.int64))[0])


def _propose_in_waves(
    node: Node, shared: SharedRows, order: Order, threads: int, budget: Budget, offers: Offers
) -> tuple[list, bool]:
    """Each rank has a share of the vertices, and all wait for each other after a wave; and whether they gave up."""
    some, gave_up = node.share_of(len(offers.state)), False
    visits, scratch = np.empty(some.stop - some.start, np.int32), new_scratch(threads, shared.rows)

    def end_wave(_: int) -> bool:
        nonlocal gave_up
        gave_up = _any_gave_up(node, budget)
        return gave_up

    counts = propose_in_waves(shared.rows, order, some.start, budget, visits, scratch, offers, end_wave)
    return counts, gave_up


def _propose_sorted(node: Node, shared: SharedRows, order: Order, threads: int, offers: Offers) -> list | None:
    """Offers down sorted rows, from the beginning; None where there is no room for these."""
    rows, n = shared.rows, len(offers.state)
    entries = len(rows.indices)
    kinds: list[np.dtype] = [np.dtype(np.uint32), rows.bits.dtype, np.dtype(np.int64)]
    sizes = [
        -(-length * kind.itemsize // LINE) * LINE for length, kind in zip((entries, entries, n), kinds, strict=True)
    ]
    room = node.borrow(sum(sizes))
    if room is None:
        return None
    indices, bits, reached = (
        room.memory[at : at + length * kind.itemsize].view(kind)
        for at, length, kind in zip(np.cumsum([0, *sizes[:-1]]), (entries, entries, n), kinds, strict=True)
    )
    some, part = node.share_of(n), node.share_of(entries)
    reached[some], indices[part], bits[part] = rows.indptr[:-1][some], rows.indices[part], rows.bits[part]
    node.sync()
    longest = int(np.diff(rows.indptr).max(initial=0))
    spare = worker_rows(threads, longest, bits.dtype), worker_rows(threads, longest, np.uint32)
    team, chunk = CALLER if threads == 1 else threads, chunk_size(n, threads * node.comm.size)
    run_team(sort_each, n, team, order, *spare, Rows(rows.indptr, indices, bits), chunk=chunk, cursor=shared.cursor)
    node.sync()
    reset(node, shared)
    node.sync()
    lists = Rows(rows.indptr, indices.view(np.int32), bits)
    given = rows, order, lists, reached, offers
    counts = run_team(propose_sorted, n, team, *given, chunk=chunk, cursor=shared.cursor)
    node.sync()
    room.free()
    return [(0, 0, len(indices[part])), *counts]  # to sort reads each entry once
