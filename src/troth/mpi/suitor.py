"""Suitor on a cluster: offers stand at once where both ends are mine, and are sent, packed, where they are not.

Reference: F. Manne and M. Halappanavar, New effective multithreaded matching algorithms, IPDPS 2014; the words are
those of ``cpu/suitor.py``.

State: one 64-bit word a local vertex, ``weight prefix << 32 | priority of the suitor``. The owner of v has v's word. A
rank that has v as a ghost has a word as well: the best offer to v that this rank has made or has been told of.
Invariant: words only grow, and a ghost's word is at most the owner's, or is an offer that is on its way to the owner.
So a vertex that passes over a ghost, whose word is better than its offer, would have been refused by the owner too;
and one that does make its offer gets an answer, if it is refused now or displaced later.

A round: (1) every vertex that looks for a neighbour finds one, until no own vertex is left without an offer; (2) the
offers that changed a ghost's word go to the owners, and with them the words of own vertices to the ranks whose offers
lost there; (3) owners take offers that are better, losers look again. The rounds end when no rank has sent anything.
Then all offers stand at their owners: the one fixed point of Suitor, whatever the ranks and the partition were.

A record is three 32-bit numbers, place and word. An offer names the place in the owner's numbering; an answer names the
same place, complemented. Where prefixes are coarse (``order.coarse``) equal prefixes are settled by exact weights: an
owner finds them in its own row, a rank with a ghost is told them, in two numbers more.

Cost: about as many looks as serial Suitor takes, and 12 bytes for each offer across and each refusal.
"""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import NamedTuple

import numpy as np

from troth.cpu._atomics import compare_and_swap, fetch_add, load, prefetch
from troth.cpu._jit import inlined, kernel
from troth.cpu._rows import Rows, over
from troth.cpu._team import chunk_size, new_cursor, take
from troth.cpu._team import run as run_team
from troth.cpu.suitor import LOST, NONE, SCRATCH, goes_down, goes_in_waves, propose_all, propose_in_waves, read_mates
from troth.mpi.exchange import starts_of, wait
from troth.mpi.graph import DistGraph
from troth.mpi.node import Node, SharedRows, node_of
from troth.mpi.rows import entry_of, name_of, own_place, part_of
from troth.order import HALF, MASK, ONE, Order, prefix, priority, vertex

GHOSTS, LOSERS, LOOKERS = (np.uint64(i) for i in range(3))  # the counters of ``Lists``
RECORD, EXACT_RECORD = 3, 5  # 32-bit numbers
GROUP = 64  # vertices whose first choices are found together
AHEAD = 16  # records
PIECES = 8  # of the vertices without edges across; MPI gets a turn between them


class Words(NamedTuple):
    """The offers that the local vertices hold, and, where prefixes are coarse, the weights that owners have told."""

    state: np.ndarray
    exact: np.ndarray  # one a ghost; means something while the ghost's suitor is not an own vertex
    changed: np.ndarray  # one a ghost: 1 while it is in the list of changed ghosts


class Lists(NamedTuple):
    """What a round has found; ``counts`` says how long each list is."""

    ghosts: np.ndarray  # ghosts whose word changed
    losers: np.ndarray  # own vertices at which an offer of another rank lost
    slots: np.ndarray  # of that rank, for each loser
    lookers: np.ndarray  # own vertices that have to look again
    counts: np.ndarray


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
    if not order.coarse or offer >> HALF != held >> HALF:
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
        weight = prefix(part.bits[e], order) << HALF
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
    """``look`` by the exact weights, where prefixes are coarse."""
    heaviest = best = NONE
    found = np.int64(-1)
    for e in range(np.uint64(part.indptr[u]), np.uint64(part.indptr[u + 1])):
        bits = np.uint64(part.bits[e])
        if bits < heaviest:
            continue
        v = np.int64(part.indices[e])
        other = priority(order, name_of(part, v))
        offer = prefix(part.bits[e], order) << HALF | rank
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
    offer = prefix(part.bits[e], order) << HALF | rank
    held = load(words.state, v)
    while wins(part, order, np.int64(v), bits, offer, words.exact, held):
        seen = compare_and_swap(words.state, v, held, offer)
        if seen == held:
            return held
        held = seen
    return LOST


@inlined
def offer_along(part, order, slot_of, u, e, words, lists):
    """u makes its offer along entry e. Returns the own vertex that has to look again: u, whom it displaced, or -1."""
    v = np.int64(part.indices[e])
    displaced = make_offer(part, order, priority(order, name_of(part, u)), e, words)
    if displaced == LOST:
        return u
    if v >= part.owned and compare_and_swap(words.changed, np.uint64(v - part.owned), np.int32(0), np.int32(1)) == 0:
        lists.ghosts[fetch_add(lists.counts, GHOSTS, np.int64(1))] = v
    if displaced == NONE:
        return np.int64(-1)
    suitor = vertex(order, displaced)
    place = own_place(part, suitor)
    if place < 0 and v < part.owned:  # another rank's offer: it has to be told
        at = fetch_add(lists.counts, LOSERS, np.int64(1))
        lists.losers[at], lists.slots[at] = v, slot_of[part.indices[entry_of(part, v, suitor)] - part.owned]
    return place


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
def settle(part, order, slot_of, queue, waiting, words, lists):
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
                e = look_exactly(part, order, u, rank, words) if order.coarse else look(part, order, u, rank, words)
                again = np.int64(-1)
                if e >= 0:
                    offers += 1
                    again = offer_along(part, order, slot_of, u, e, words, lists)
            if again >= 0:
                queue[left] = again
                left += 1
        waiting = left
    return offers, scans


@kernel
def propose_first(worker, cursor, chunk, visits, part, order, slot_of, queues, words, lists):
    """These vertices make their first offers, 64 at a time; those that fail or are displaced look again after them."""
    offers = scans = np.int64(0)
    firsts, queue = queues[worker, 0], queues[worker, 1]
    while True:
        start = take(cursor, chunk)
        if start >= visits.size:
            return offers, scans
        stop = min(np.int64(visits.size), start + chunk)
        for group in range(start, stop, GROUP):
            count = min(GROUP, stop - group)
            scans += count
            for i in range(count):
                firsts[i] = first_choice(part, order, visits[group + i])
                if firsts[i] >= 0:
                    prefetch(words.state, np.uint64(np.uint32(part.indices[firsts[i]])))
            waiting = 0
            for i in range(count):
                if firsts[i] >= 0:
                    offers += 1
                    again = offer_along(part, order, slot_of, np.int64(visits[group + i]), firsts[i], words, lists)
                    if again >= 0:
                        queue[waiting] = again
                        waiting += 1
            made, looked = settle(part, order, slot_of, queue, waiting, words, lists)
            offers, scans = offers + made, scans + looked


@kernel
def propose(worker, cursor, chunk, lookers, part, order, slot_of, queues, words, lists):
    """The vertices of ``lookers`` look again, and so do those that they displace; returns two counts."""
    offers = scans = np.int64(0)
    queue = queues[worker, 1]
    while True:
        start = take(cursor, chunk)
        if start >= lookers.size:
            return offers, scans
        stop = min(np.int64(lookers.size), start + chunk)
        for group in range(start, stop, GROUP):
            waiting = min(GROUP, stop - group)
            for i in range(waiting):
                queue[i] = lookers[group + i]
            made, looked = settle(part, order, slot_of, queue, waiting, words, lists)
            offers, scans = offers + made, scans + looked


# ---- messages ----


@kernel
def count_records(owned, slot_of, lists, counts):
    """counts[s] = how many records go to neighbour s."""
    for i in range(lists.counts[GHOSTS]):
        counts[slot_of[lists.ghosts[i] - owned]] += 1
    for i in range(lists.counts[LOSERS]):
        counts[lists.slots[i]] += 1


@inlined
def put(values, at, number, word, weight, width):
    """One record."""
    values[at] = np.uint32(np.int32(number))
    values[at + 1], values[at + 2] = np.uint32(word >> HALF), np.uint32(word & MASK)
    if width == EXACT_RECORD:
        values[at + 3], values[at + 4] = np.uint32(weight >> HALF), np.uint32(weight & MASK)


@kernel
def pack(part, order, slot_of, places, width, lists, words, ends, values):
    """Write the records; ``ends[s]``, at first where those of neighbour s begin, becomes where they end."""
    for i in range(lists.counts[GHOSTS]):
        v = np.int64(lists.ghosts[i])
        g = v - part.owned
        put(values, ends[slot_of[g]] * width, places[g], words.state[v], NONE, width)
        ends[slot_of[g]] += 1
        words.changed[g] = 0
    for i in range(lists.counts[LOSERS]):
        v, s = np.int64(lists.losers[i]), lists.slots[i]
        weight = exact_weight(part, order, v, words.state[v], words.exact) if order.coarse else NONE
        put(values, ends[s] * width, ~v, words.state[v], weight, width)
        ends[s] += 1


@kernel
def receive(part, order, slot_of, ghost_starts, places, width, counts, values, words, lists):
    """Take the records that came, ``counts[s]`` from neighbour s: better offers stand, losers are listed."""
    at = 0
    for s in range(counts.size):
        for _ in range(counts[s]):
            number = np.int64(np.int32(values[at]))
            word = np.uint64(values[at + 1]) << HALF | np.uint64(values[at + 2])
            ahead = at + AHEAD * width
            if ahead < values.size and np.int32(values[ahead]) >= 0:
                prefetch(words.state, np.uint64(values[ahead]))
            if number >= 0:  # an offer to an own vertex
                v = number
                weight = NONE
                if order.coarse:
                    weight = np.uint64(part.bits[entry_of(part, v, vertex(order, word))])
                displaced, loser = NONE, np.int64(s)
                if wins(part, order, v, weight, word, words.exact, words.state[v]):
                    displaced, loser = words.state[v], np.int64(-1)
                    words.state[v] = word
                if displaced != NONE:
                    suitor = vertex(order, displaced)
                    u = own_place(part, suitor)
                    if u >= 0:
                        lists.lookers[lists.counts[LOOKERS]] = u
                        lists.counts[LOOKERS] += 1
                    else:
                        loser = np.int64(slot_of[part.indices[entry_of(part, v, suitor)] - part.owned])
                if loser >= 0:
                    lists.losers[lists.counts[LOSERS]], lists.slots[lists.counts[LOSERS]] = v, loser
                    lists.counts[LOSERS] += 1
            else:  # the owner of a ghost holds a better offer than mine
                first, last = ghost_starts[s], ghost_starts[s + 1]
                g = first + np.searchsorted(places[first:last], np.int32(~number))
                v = part.owned + g
                weight = NONE
                if order.coarse:
                    weight = np.uint64(values[at + 3]) << HALF | np.uint64(values[at + 4])
                if wins(part, order, v, weight, word, words.exact, words.state[v]):
                    u = own_place(part, vertex(order, words.state[v])) if words.state[v] != NONE else np.int64(-1)
                    if u >= 0:
                        lists.lookers[lists.counts[LOOKERS]] = u
                        lists.counts[LOOKERS] += 1
                    words.state[v] = word
                    words.exact[g if order.coarse else 0] = weight
            at += width


# ---- the engine ----


def run(graph: DistGraph, order: Order, *, comm, threads=1, share=True) -> tuple[np.ndarray, dict]:
    """The engine; see ``matching.py``. The counts depend on ranks and threads; the mates never do."""
    begin = perf_counter()
    node = node_of(comm) if share else None
    rows = node.rows(graph) if node is not None else None
    if rows is None:
        return _run_by_messages(graph, order, comm, threads)
    seconds = {"share": perf_counter() - begin}  # nothing, if this graph was matched before
    mate, counts = _run_in_shared_memory(node, rows, graph, order, threads)
    return mate, {**counts, "threads": threads, "bytes": 0, "messages": 0, "seconds": seconds}


def _run_in_shared_memory(node: Node, rows: SharedRows, graph: DistGraph, order: Order, threads: int):
    """The kernels of ``cpu/suitor.py``, with ranks for threads: they take chunks of all vertices from one cursor."""
    arrays, state = Rows(rows.indptr, rows.indices, rows.bits), rows.state
    some = node.share_of(graph.n)
    scratch = np.empty(threads * SCRATCH, np.uint64)
    state[some] = NONE
    if node.comm.rank == 0:
        rows.cursor[0] = 0
    node.together()
    if not graph.m:
        counts = []
    elif goes_in_waves(graph, order):
        visits = np.empty(some.stop - some.start, np.int32)
        after = lambda _: node.together()  # noqa: E731
        counts = propose_in_waves(arrays, order, threads, some.start, visits, state, scratch, after)
    else:
        chunk = chunk_size(graph.n, threads * node.comm.size)
        work = (propose_all, rows.cursor, chunk, *arrays, order, goes_down(order), state, scratch)
        counts = [work[0](0, *work[1:])] if threads == 1 else run_team(threads, *work, cursor=rows.cursor)
    node.together()
    own = graph.own
    mate = np.empty(len(own), np.int32)
    held = state[own[0] : own[-1] + 1] if graph.first >= 0 else state[own]
    read_mates(0, new_cursor(), max(1, len(own)), order, held, mate)
    node.together()  # nobody clears the words for another matching before all have read theirs
    offers, scans, _ = (int(sum(column)) for column in zip(*counts, strict=True)) if counts else (0, 0, 0)
    return mate, {"rounds": 1, "proposals": offers, "scans": scans}


def _run_by_messages(graph: DistGraph, order: Order, comm, threads: int) -> tuple[np.ndarray, dict]:
    """Packed rounds. In the first, only vertices with edges across make offers before records leave."""
    from mpi4py import MPI

    part, slot_of = part_of(graph), graph.ghost_slot
    ghosts, width = len(graph.ghost_owner), EXACT_RECORD if order.coarse else RECORD
    words = Words(
        np.zeros(graph.owned + ghosts, np.uint64),
        np.zeros(ghosts if order.coarse else 1, np.uint64),
        np.zeros(ghosts, np.int32),
    )
    around = graph.neighbourhood()
    lists = _new_lists(graph)
    queues = np.empty((threads, 2, GROUP), np.int64)
    share = _share(threads)
    rim = np.zeros(graph.owned, np.bool_)
    rim[graph.boundary] = True
    rest = (part, order, slot_of, queues, words, lists)
    found = share(propose_first, np.flatnonzero(rim).astype(np.int32), *rest)
    inside = np.array_split(np.flatnonzero(~rim).astype(np.int32), PIECES)
    rounds = records = 0
    while True:
        counts = np.zeros(len(graph.neighbours), np.int64)
        count_records(graph.owned, slot_of, lists, counts)
        sent, everyone = np.array([counts.sum()], np.int64), np.empty(1, np.int64)
        request = comm.Iallreduce(sent, everyone, MPI.SUM)  # goes on while records are packed and sent
        values = np.empty(int(sent[0]) * width, np.uint32)
        pack(part, order, slot_of, graph.ghost_place, width, lists, words, starts_of(counts)[:-1].copy(), values)
        lists.counts[:] = 0
        journey = around.start(values, counts, width)
        for piece in inside:  # the records travel meanwhile
            found += share(propose_first, piece, *rest)
            journey.has_come()
        values, came = journey.end()
        receive(part, order, slot_of, graph.ghost_starts, graph.ghost_place, width, came, values, words, lists)
        lookers = lists.lookers[: lists.counts[LOOKERS]]
        rounds, records = rounds + 1, records + int(sent[0])
        wait(comm, request)
        if everyone[0] == 0 and rounds > 1:  # after the first, those inside may have displaced some who have to send
            break
        inside = ()
        found += share(propose, lookers, *rest)
    around.free()
    mate = np.empty(graph.owned, np.int32)
    read_mates(0, new_cursor(), max(1, graph.owned), order, words.state[: graph.owned], mate)
    offers, scans = (int(sum(column)) for column in zip(*found, strict=True))
    stats = {"rounds": rounds, "proposals": offers, "scans": scans, "records": records, "threads": threads}
    return mate, {**stats, "bytes": around.bytes, "messages": around.messages}


def _new_lists(graph: DistGraph) -> Lists:
    """Empty lists with room for all that a round may find.

    In a round a neighbour makes at most one offer for each of its ghosts, and of those that another rank made to v, one
    may be displaced here before it is answered. So an owner answers at most twice for each ghost.
    """
    offers, ghosts = len(graph.boundary), len(graph.ghost_owner)
    room = offers + min(graph.owned, offers)
    return Lists(
        np.empty(ghosts, np.int32),
        np.empty(room, np.int32),
        np.empty(room, np.int32),
        np.empty(offers + 2 * ghosts, np.int32),
        np.zeros(16, np.int64),
    )


def _share(threads: int) -> Callable:
    """``over`` with these threads; one needs no team, which would have to be woken in each of many small rounds."""
    if threads == 1:
        return lambda work, visits, *args: [work(0, new_cursor(), max(1, len(visits)), visits, *args)]
    return lambda work, visits, *args: over(len(visits), threads, work, visits, *args)
