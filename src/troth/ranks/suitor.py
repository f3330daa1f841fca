"""Suitor on a cluster: in shared memory where all ranks have it, else by messages that carry what changed at the rims.

Reference: F. Manne and M. Halappanavar, New effective multithreaded matching algorithms, IPDPS 2014; the words are
those of ``cpu/suitor.py``.

On one machine (``_run_in_shared_memory``) the ranks share one CSR and one array of words (``node.py``), and run the
kernels of ``cpu/suitor.py`` on them as threads do: no message is sent.

On several (``_run_by_messages``) the owner of v has v's word, ``weight prefix << 32 | priority of the suitor``. A rank
that has v as a ghost has a word as well: the best offer to v that this rank has made or has been told of. Invariant:
words only grow, and a ghost's word is at most the owner's, or is an offer that is on its way to the owner. So a vertex
that passes over a ghost, whose word is better than its offer, would have been refused by the owner too.

A round: (1) every vertex that looks for a neighbour finds one, until no own vertex is left without an offer; (2) the
words of ghosts that changed go to their owners, as offers, and own words that changed to all ranks that have the vertex
as a ghost; (3) better words stand, and own vertices whose offers they displaced look again. An offer that is refused
needs no answer: the word that beat it is on its way already, or goes in the next round. The rounds end when no rank has
sent anything. Then all offers stand at their owners: the one fixed point of Suitor, whatever the ranks and partition.

To tell only the rank that lost would take fewer bytes and far more rounds: losers would try one neighbour after the
other whose better offers they have not heard of (113 rounds instead of 15 on a dense bipartite graph on 8 ranks).

In the first round only vertices with edges across make offers before the records leave; the others do so while these
travel.

A record is three 32-bit numbers, place and word: an offer names the place of the vertex at its owner, a told word that
of the ghost at the receiver, complemented. Where prefixes are lossy (``order.lossy``) equal prefixes are settled by
exact weights: an owner finds them in its own row, a rank with a ghost is told them, in two numbers more.

Cost: about as many looks as serial Suitor takes, and 12 bytes for each change of a word and each rank that has it.
"""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from troth.contract import Context, Result
from troth.cpu.suitor import LOST, NONE, SCRATCH, goes_down, goes_in_waves, propose_all, propose_in_waves, read_mates
from troth.kernels.atomics import compare_and_swap, fetch_add, load, prefetch
from troth.kernels.jit import inlined, kernel
from troth.kernels.team import chunk_size, new_cursor, over, take
from troth.kernels.team import run as run_team
from troth.order import MASK, ONE, PRIORITY_BITS, Order, prefix, priority, vertex
from troth.ranks.exchange import starts_of, wait
from troth.ranks.graph import DistGraph
from troth.ranks.node import Node, SharedRows, node_of
from troth.ranks.rows import entry_of, name_of, own_place, part_of
from troth.rows import Rows

CHANGED, LOOKERS = (np.uint64(i) for i in range(2))  # the counters of ``Lists``
SENT, PENDING, INTERNAL = (
    np.uint8(i) for i in range(3)
)  # marks of a word: as last sent; to be sent; no ghost anywhere
RECORD, EXACT_RECORD = 3, 5  # 32-bit numbers
GROUP = 64  # vertices whose first choices are found together
AHEAD = 16  # records
PIECES = 8  # of the vertices without edges across; MPI gets a turn between them


class Words(NamedTuple):
    """The offers that the local vertices hold, and, where prefixes are lossy, the weights that owners have told."""

    state: np.ndarray
    exact: np.ndarray  # one a ghost; means something while the ghost's suitor is not an own vertex
    marks: np.ndarray  # SENT, PENDING or INTERNAL


class Lists(NamedTuple):
    """What a round has found; ``counts`` says how long each list is."""

    changed: np.ndarray  # local vertices whose word is to be sent
    knows: np.ndarray  # for each of them that is own, the neighbour whose offer its word is, or -1
    lookers: np.ndarray  # own vertices that have to look again
    counts: np.ndarray


class Rim(NamedTuple):
    """Who has what: neighbours are named by their slots in ``DistGraph.neighbours``."""

    slot_of: np.ndarray  # of each ghost's owner
    places: np.ndarray  # of each ghost at its owner
    starts: np.ndarray  # own vertex v is a ghost of slots[starts[v]:starts[v + 1]],
    slots: np.ndarray
    there: np.ndarray  # where it is the ghost of this number


# ---- offers ----


@kernel
def exact_weight(part, order, v, word, exact):
    """The exact bits of an offer to v: in v's row, in the suitor's, or as the owner of ghost v told them."""
    suitor = vertex(order, word)
    if v < part.owned:
        return np.uint64(part.bits[entry_of(part, v, suitor)])
    place = own_place(part, suitor)
    if place < 0:
        return exact[v - part.owned]
    return np.uint64(part.bits[entry_of(part, place, part.names[v])])


@inlined
def wins(part, order, v, weight, offer, exact, held):
    """Whether v prefers an offer of this exact weight to the one that it holds."""
    if not order.lossy or offer >> PRIORITY_BITS != held >> PRIORITY_BITS:
        return offer > held
    theirs = exact_weight(part, order, v, held, exact)
    return weight > theirs or (weight == theirs and offer > held)


@inlined
def first_choice(part, order, u):
    """The entry of the heaviest neighbour, whatever offers it holds; -1 where there is none.

    Priorities are looked at where weights tie, and only there: names of ghosts are far away in memory.
    """
    most = part.bits[0] ^ part.bits[0]  # zero of the bits' own type
    found = np.int64(-1)
    for e in range(np.uint64(part.indptr[u]), np.uint64(part.indptr[u + 1])):
        bits = part.bits[e]
        if bits > most or (
            bits == most
            and priority(order, name_of(part, part.indices[e])) > priority(order, name_of(part, part.indices[found]))
        ):
            most, found = bits, np.int64(e)
    return found


@inlined
def look(part, order, u, rank, words):
    """The entry of the heaviest neighbour that would take u's offer, as far as this rank knows, or -1."""
    held = load(words.state, np.uint64(u))
    # Offers only get better and the last one is from the mate, so nothing below what u holds need be looked at.
    best = held - ONE if held != NONE else NONE
    exact = True  # the low half of ``best`` is a priority; else that of ``found`` has not been needed yet
    found = np.int64(-1)
    for e in range(np.uint64(part.indptr[u]), np.uint64(part.indptr[u + 1])):
        weight = prefix(part.bits[e], order) << PRIORITY_BITS
        if weight | MASK <= best:
            continue
        v = np.uint64(np.uint32(part.indices[e]))
        if weight > best:
            if weight | rank > load(words.state, v):
                best, found, exact = weight, np.int64(e), False
            continue
        if not exact:
            best, exact = best | priority(order, name_of(part, part.indices[found])), True
        key = weight | priority(order, name_of(part, v))
        if key > best and weight | rank > load(words.state, v):
            best, found = key, np.int64(e)
    return found


@kernel
def look_exactly(part, order, u, rank, words):
    """``look`` by the exact weights, where prefixes are lossy."""
    heaviest = best = NONE
    found = np.int64(-1)
    for e in range(np.uint64(part.indptr[u]), np.uint64(part.indptr[u + 1])):
        bits = np.uint64(part.bits[e])
        if bits < heaviest:
            continue
        v = np.int64(part.indices[e])
        other = priority(order, name_of(part, v))
        offer = prefix(part.bits[e], order) << PRIORITY_BITS | rank
        if (bits > heaviest or other > best) and wins(
            part, order, v, bits, offer, words.exact, load(words.state, np.uint64(v))
        ):
            heaviest, best, found = bits, other, np.int64(e)
    return found


@inlined
def make_offer(part, order, rank, e, words):
    """The own vertex of priority ``rank`` makes an offer along entry e; what it displaced (perhaps NONE), or LOST."""
    v = np.uint64(np.uint32(part.indices[e]))
    bits = np.uint64(part.bits[e])
    offer = prefix(part.bits[e], order) << PRIORITY_BITS | rank
    held = load(words.state, v)
    while wins(part, order, np.int64(v), bits, offer, words.exact, held):
        seen = compare_and_swap(words.state, v, held, offer)
        if seen == held:
            return held
        held = seen
    return LOST


@inlined
def list_changed(v, words, lists):
    """v's word is to be sent, if another rank has v, and is not so already."""
    at = np.uint64(v)
    if words.marks[at] == SENT and compare_and_swap(words.marks, at, SENT, PENDING) == SENT:
        lists.changed[fetch_add(lists.counts, CHANGED, np.int64(1))] = v


@inlined
def offer_along(part, order, u, e, words, lists):
    """u makes its offer along entry e. Returns the own vertex that has to look again: u, whom it displaced, or -1."""
    displaced = make_offer(part, order, priority(order, name_of(part, u)), e, words)
    if displaced == LOST:
        return u
    list_changed(part.indices[e], words, lists)
    return own_place(part, vertex(order, displaced)) if displaced != NONE else np.int64(-1)


@inlined
def fetch(part, queue, waiting, state):
    """Ask for the rows of the waiting vertices, then for the words of their neighbours."""
    for i in range(waiting):
        e = np.uint64(part.indptr[queue[i]])
        for at in (e, e + np.uint64(15)):
            prefetch(part.indices, at)
            prefetch(part.bits, at)
    for i in range(waiting):
        e, stop = np.uint64(part.indptr[queue[i]]), np.uint64(part.indptr[queue[i] + 1])
        for at in range(e, min(e + np.uint64(32), stop)):
            prefetch(state, np.uint64(np.uint32(part.indices[at])))


@inlined
def settle(part, order, queue, waiting, words, lists):
    """The vertices queue[:waiting] look again; whom one displaces takes its place. Returns two counts."""
    offers = scans = 0
    while waiting > 0:
        fetch(part, queue, waiting, words.state)
        left = 0
        for i in range(waiting):
            u = again = queue[i]
            while again == u:  # the neighbour has had a better offer meanwhile
                rank = priority(order, name_of(part, u))
                scans += 1
                e = look_exactly(part, order, u, rank, words) if order.lossy else look(part, order, u, rank, words)
                again = np.int64(-1)
                if e >= 0:
                    offers += 1
                    again = offer_along(part, order, u, e, words, lists)
            if again >= 0:
                queue[left] = again
                left += 1
        waiting = left
    return offers, scans


@inlined
def offer_first(part, order, visits, firsts, queue, words, lists):
    """The first offers of these vertices; who fails or is displaced waits in ``queue``. Returns how many of each."""
    offers = waiting = 0
    for i in range(visits.size):
        firsts[i] = first_choice(part, order, visits[i])
        if firsts[i] >= 0:
            prefetch(words.state, np.uint64(np.uint32(part.indices[firsts[i]])))
    for i in range(visits.size):
        if firsts[i] >= 0:
            offers += 1
            again = offer_along(part, order, np.int64(visits[i]), firsts[i], words, lists)
            if again >= 0:
                queue[waiting] = again
                waiting += 1
    return offers, waiting


@kernel
def propose(worker, cursor, chunk, visits, first, part, order, queues, words, lists):
    """These vertices look for a neighbour, 64 at a time, and so do those that they displace; returns two counts.

    ``first``: they have made no offer yet.
    """
    offers = scans = np.int64(0)
    firsts, queue = queues[worker, 0], queues[worker, 1]
    for start, stop in chunks(cursor, chunk, visits.size):
        stop = min(np.int64(visits.size), start + chunk)
        for group in range(start, stop, GROUP):
            some = visits[group : min(group + GROUP, stop)]
            if first:
                made, waiting = offer_first(part, order, some, firsts, queue, words, lists)
                offers, scans = offers + made, scans + some.size
            else:
                waiting = some.size
                for i in range(waiting):
                    queue[i] = some[i]
            made, looked = settle(part, order, queue, waiting, words, lists)
            offers, scans = offers + made, scans + looked
    return offers, scans


# ---- messages ----


@kernel
def find_ghosthood(boundary, boundary_starts, starts, slots, there):
    """Who has an own vertex as a ghost: ``boundary``, which is by neighbour, sorted by vertex (see ``Rim``)."""
    for k in range(boundary.size):
        starts[boundary[k] + 1] += 1
    for v in range(starts.size - 1):
        starts[v + 1] += starts[v]
    for s in range(boundary_starts.size - 1):
        for k in range(boundary_starts[s], boundary_starts[s + 1]):
            at = starts[boundary[k]]
            slots[at], there[at] = s, k - boundary_starts[s]
            starts[boundary[k]] += 1
    for v in range(starts.size - 1, 0, -1):
        starts[v] = starts[v - 1]
    starts[0] = 0


@kernel
def count_records(part, order, rim, words, lists, counts):
    """counts[s] = how many records go to neighbour s."""
    for i in range(lists.counts[CHANGED]):
        v = np.int64(lists.changed[i])
        if v >= part.owned:
            counts[rim.slot_of[v - part.owned]] += 1
            continue
        suitor, knows = vertex(order, words.state[v]), np.int64(-1)
        if own_place(part, suitor) < 0:
            knows = np.int64(rim.slot_of[part.indices[entry_of(part, v, suitor)] - part.owned])
        lists.knows[i] = knows
        for k in range(rim.starts[v], rim.starts[v + 1]):
            if rim.slots[k] != knows:
                counts[rim.slots[k]] += 1


@inlined
def put(values, at, number, word, weight, width):
    """One record."""
    values[at] = np.uint32(np.int32(number))
    values[at + 1], values[at + 2] = np.uint32(word >> PRIORITY_BITS), np.uint32(word & MASK)
    if width == EXACT_RECORD:
        values[at + 3], values[at + 4] = np.uint32(weight >> PRIORITY_BITS), np.uint32(weight & MASK)


@kernel
def pack(part, order, rim, width, words, lists, ends, values):
    """Write the records; ``ends[s]``, at first where those of neighbour s begin, becomes where they end."""
    for i in range(lists.counts[CHANGED]):
        v = np.int64(lists.changed[i])
        words.marks[v] = SENT
        if v >= part.owned:
            s = rim.slot_of[v - part.owned]
            put(values, ends[s] * width, rim.places[v - part.owned], words.state[v], NONE, width)
            ends[s] += 1
            continue
        weight = exact_weight(part, order, v, words.state[v], words.exact) if order.lossy else NONE
        for k in range(rim.starts[v], rim.starts[v + 1]):
            s = rim.slots[k]
            if s != lists.knows[i]:
                put(values, ends[s] * width, ~rim.there[k], words.state[v], weight, width)
                ends[s] += 1


@kernel
def receive(part, order, ghost_starts, width, counts, values, words, lists):
    """Take the records that came, ``counts[s]`` from neighbour s: better words stand, those displaced look again."""
    at = 0
    for s in range(counts.size):
        for _ in range(counts[s]):
            number = np.int64(np.int32(values[at]))
            word = np.uint64(values[at + 1]) << PRIORITY_BITS | np.uint64(values[at + 2])
            ahead = at + AHEAD * width
            if ahead < values.size and np.int32(values[ahead]) >= 0:
                prefetch(words.state, np.uint64(values[ahead]))
            weight = NONE
            if number >= 0:  # an offer to an own vertex
                v = number
                if order.lossy:
                    weight = np.uint64(part.bits[entry_of(part, v, vertex(order, word))])
            else:  # what a ghost holds
                v = part.owned + ghost_starts[s] + ~number
                if order.lossy:
                    weight = np.uint64(values[at + 3]) << PRIORITY_BITS | np.uint64(values[at + 4])
            held = words.state[v]
            if wins(part, order, v, weight, word, words.exact, held):
                words.state[v] = word
                if number >= 0:
                    list_changed(v, words, lists)
                elif order.lossy:
                    words.exact[v - part.owned] = weight
                u = own_place(part, vertex(order, held)) if held != NONE else np.int64(-1)
                if u >= 0:
                    lists.lookers[lists.counts[LOOKERS]] = u
                    lists.counts[LOOKERS] += 1
            at += width


# ---- the engine ----


def run(graph: DistGraph, order: Order, context: Context, *, share: bool = True) -> Result:
    """The engine; see ``contract.py``. The counts depend on ranks and threads; the mates never do."""
    begin, comm, threads = perf_counter(), context.comm, context.threads or 1
    node = node_of(comm) if share else None
    rows = node.rows(graph) if node is not None else None
    if rows is None:
        return _run_by_messages(graph, order, comm, threads)
    seconds = {"share": perf_counter() - begin}  # nothing, if this graph was matched before
    mate, counts = _run_in_shared_memory(node, rows, graph, order, threads)
    return Result(mate, {**counts, "threads": threads, "bytes": 0, "messages": 0}, seconds)


def _run_in_shared_memory(node: Node, rows: SharedRows, graph: DistGraph, order: Order, threads: int):
    """The kernels of ``cpu/suitor.py``, with ranks for threads: they take chunks of all vertices from one cursor."""
    arrays, state = Rows(rows.indptr, rows.indices, rows.bits), rows.state
    some = node.share_of(graph.n)
    scratch = np.empty(threads * SCRATCH, np.uint64)
    state[some] = NONE
    if node.comm.rank == 0:
        rows.cursor[0] = 0
    node.sync()
    if not graph.m:
        counts = []
    elif goes_in_waves(graph, order):
        visits = np.empty(some.stop - some.start, np.int32)
        given = (arrays, order, threads, some.start, visits, state, scratch)
        counts = propose_in_waves(*given, after=lambda _: node.sync())
    else:
        chunk = chunk_size(graph.n, threads * node.comm.size)
        work = (propose_all, rows.cursor, chunk, *arrays, order, goes_down(order), state, scratch)
        counts = [work[0](0, *work[1:])] if threads == 1 else run_team(threads, *work, cursor=rows.cursor)
    node.sync()
    own = graph.own
    mate = np.empty(len(own), np.int32)
    held = state[own[0] : own[-1] + 1] if graph.first >= 0 else state[own]
    read_mates(0, new_cursor(), max(1, len(own)), order, held, mate)
    node.sync()  # nobody clears the words for another matching before all have read theirs
    offers, scans, _ = (int(sum(column)) for column in zip(*counts, strict=True)) if counts else (0, 0, 0)
    return mate, {"rounds": 1, "proposals": offers, "scans": scans}


def _run_by_messages(graph: DistGraph, order: Order, comm: Any, threads: int) -> Result:
    """Packed rounds."""
    from mpi4py import MPI

    part, rim = part_of(graph), _rim(graph)
    ghosts, width = len(graph.ghost_owner), EXACT_RECORD if order.lossy else RECORD
    words = Words(
        np.zeros(graph.owned + ghosts, np.uint64),
        np.zeros(ghosts if order.lossy else 1, np.uint64),
        np.full(graph.owned + ghosts, SENT),
    )
    inside = np.diff(rim.starts) == 0
    words.marks[: graph.owned][inside] = INTERNAL
    around = graph.neighbourhood()
    lists = _new_lists(graph)
    share, rest = _share(threads), (part, order, np.empty((threads, 2, GROUP), np.int64), words, lists)
    found = share(propose, np.flatnonzero(~inside).astype(np.int32), True, *rest)
    meanwhile = np.array_split(np.flatnonzero(inside).astype(np.int32), PIECES)
    rounds = records = 0
    while True:
        counts = np.zeros(len(graph.neighbours), np.int64)
        count_records(part, order, rim, words, lists, counts)
        sent, everyone = np.array([counts.sum()], np.int64), np.empty(1, np.int64)
        request = comm.Iallreduce(sent, everyone, MPI.SUM)  # goes on while records are packed and sent
        values = np.empty(int(sent[0]) * width, np.uint32)
        pack(part, order, rim, width, words, lists, starts_of(counts)[:-1].copy(), values)
        lists.counts[:] = 0
        journey = around.start(values, counts, width)
        for piece in meanwhile:
            found += share(propose, piece, True, *rest)
            journey.has_come()
        values, came = journey.end()
        receive(part, order, graph.ghost_starts, width, came, values, words, lists)
        rounds, records = rounds + 1, records + int(sent[0])
        wait(comm, request)
        if everyone[0] == 0 and rounds > 1:  # in the first, those inside may have changed words after the packing
            break
        meanwhile = ()
        found += share(propose, lists.lookers[: lists.counts[LOOKERS]], False, *rest)
    around.free()
    mate = np.empty(graph.owned, np.int32)
    read_mates(0, new_cursor(), max(1, graph.owned), order, words.state[: graph.owned], mate)
    offers, scans = (int(sum(column)) for column in zip(*found, strict=True))
    counts = {"rounds": rounds, "proposals": offers, "scans": scans, "records": records, "threads": threads}
    return Result(mate, {**counts, "bytes": around.bytes, "messages": around.messages}, {})


def _rim(graph: DistGraph) -> Rim:
    starts = np.zeros(graph.owned + 1, np.int64)
    slots, there = (np.empty(len(graph.boundary), np.int32) for _ in range(2))
    find_ghosthood(graph.boundary, graph.boundary_starts, starts, slots, there)
    return Rim(graph.ghost_slot, graph.ghost_place, starts, slots, there)


def _new_lists(graph: DistGraph) -> Lists:
    """Empty lists with room for all that a round may find: each local vertex once, a displaced one for each record."""
    ghosts = len(graph.ghost_owner)
    some = min(graph.owned, len(graph.boundary)) + ghosts
    came = len(graph.boundary) + ghosts
    return Lists(np.empty(some, np.int32), np.empty(some, np.int32), np.empty(came, np.int32), np.zeros(16, np.int64))


def _share(threads: int) -> Callable:
    """``over`` with these threads; one needs no team, which would have to be woken in each of many small rounds."""
    if threads == 1:
        return lambda work, visits, *args: [work(0, new_cursor(), max(1, len(visits)), visits, *args)]
    return lambda work, visits, *args: over(len(visits), threads, work, visits, *args)
