"""The compiled steps that the four PGAS variants share: choosing, matching, updating.

A vertex u has ``mate[u]``, the local number of the one it wants (-1: null), and its word (see ``shared.py``). A word
that a rank knows may be old, and that is safe: matched is for ever, and once mate_v = u was read it stays true until u
itself is matched elsewhere, since v leaves u for no other reason.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from troth.kernels.jit import inlined, kernel
from troth.ranks.rows import Part, entry_of, name_of, rank_of

CHANGED, ASKING, NEWLY, WORK, NOTICES, OPEN = range(6)  # the counters of ``StepLists``


class StepLists(NamedTuple):
    """What the steps of the notifying variants fill; ``counts`` says how long each list is."""

    changed: np.ndarray  # own vertices whose word is to be published
    asking: np.ndarray  # those whose mate is a ghost, to be read again
    newly: np.ndarray  # newly matched
    work: np.ndarray  # to look again
    waiting: np.ndarray  # a flag: in ``work``
    about: np.ndarray  # notices: the ghost that the owner is to look at again,
    because: np.ndarray  # and the own vertex for which
    finished: np.ndarray  # a flag: matched, or no candidate is left
    counts: np.ndarray  # OPEN counts the own vertices that are not finished


def new_lists(owned: int, crossing: int) -> StepLists:
    """All own vertices are to look; at most two notices wait for each crossing edge."""
    counts = np.zeros(16, np.int64)
    counts[WORK] = counts[OPEN] = owned
    changed, asking, newly = (np.empty(owned, np.int32) for _ in range(3))
    work, waiting = np.arange(owned, dtype=np.int32), np.ones(owned, np.bool_)
    about, because = (np.empty(2 * crossing + owned, np.int32) for _ in range(2))
    finished = np.zeros(owned, np.bool_)
    return StepLists(changed, asking, newly, work, waiting, about, because, finished, counts)


@inlined
def is_gone(word, name):
    """Whether a vertex of this word is matched with another than the one of this name."""
    return (word & 1) == 1 and word >> 1 != name


@kernel
def heaviest_candidate(part, order, word, u):
    """h(C_u): the heaviest neighbour that is unmatched or matched with u, by what is known; -1 where there is none."""
    name = np.int64(name_of(part, u))
    best = np.int64(-1)
    most = part.bits[0] ^ part.bits[0]
    rank = np.uint64(0)
    for e in range(part.indptr[u], part.indptr[u + 1]):
        bits, v = part.bits[e], np.int64(part.indices[e])
        if bits < most or is_gone(word[v], name):
            continue
        other = rank_of(part, order, v)
        if bits > most or other > rank or best < 0:
            best, most, rank = v, bits, other
    return best


@inlined
def want(part, u, v, mate, word):
    """mate_u <- v, unmatched."""
    mate[u] = v
    word[u] = (np.int64(name_of(part, v)) if v >= 0 else np.int64(-1)) << 1


@inlined
def add(values, counts, which, value):
    values[counts[which]] = value
    counts[which] += 1


# ---- the polling variants ----


@kernel
def choose(part, order, vertices, mate, word, changed):
    """mate_u <- h(C_u); ``changed`` gets those who changed it, and their number is returned."""
    found = 0
    for i in range(vertices.size):
        u = vertices[i]
        v = heaviest_candidate(part, order, word, u)
        if v != mate[u] or v < 0:
            want(part, u, v, mate, word)
            changed[found] = u
            found += 1
    return found


@kernel
def match(part, vertices, mate, word, matched):
    """Keep in ``vertices`` those that are neither matched now nor without a mate; (kept, newly matched)."""
    kept = found = 0
    for i in range(vertices.size):
        u = vertices[i]
        v = mate[u]
        if v < 0:
            continue
        if word[v] >> 1 == np.int64(name_of(part, u)):
            word[u] |= 1
            matched[found] = u
            found += 1
        else:
            vertices[kept] = u
            kept += 1
    return kept, found


@kernel
def sweep(part, order, vertices, mate, word, changed):
    """One pass of async-poll: leave mates that are gone, match where mates agree; (kept, changed words)."""
    kept = found = 0
    for i in range(vertices.size):
        u = vertices[i]
        name = np.int64(name_of(part, u))
        before = word[u]
        if mate[u] >= 0 and is_gone(word[mate[u]], name):
            want(part, u, heaviest_candidate(part, order, word, u), mate, word)
        v = mate[u]
        if v >= 0:
            if word[v] >> 1 == name:
                word[u] |= 1
            else:
                vertices[kept] = u
                kept += 1
        if word[u] != before:
            changed[found] = u
            found += 1
    return kept, found


@kernel
def mark_mates(owned, vertices, mate, wanted):
    """Mark the ghosts that are mates of these vertices."""
    for i in range(vertices.size):
        if mate[vertices[i]] >= owned:
            wanted[mate[vertices[i]] - owned] = True


@kernel
def mark_candidates(part, vertices, word, wanted):
    """Mark the ghosts that are neighbours of these vertices and not known to be matched."""
    for i in range(vertices.size):
        u = vertices[i]
        for e in range(part.indptr[u], part.indptr[u + 1]):
            v = part.indices[e]
            if v >= part.owned and word[v] & 1 == 0:
                wanted[v - part.owned] = True


# ---- the notifying variants ----


@inlined
def finish(u, lists):
    lists.finished[u] = True
    lists.counts[OPEN] -= 1


@inlined
def wake(x, lists):
    """myV <- myV + x."""
    if not lists.finished[x] and not lists.waiting[x]:
        lists.waiting[x] = True
        add(lists.work, lists.counts, WORK, x)


@inlined
def matches(u, word, lists):
    """matched_u <- true."""
    word[u] |= 1
    finish(u, lists)
    add(lists.newly, lists.counts, NEWLY, u)


@inlined
def notify(x, u, lists):
    """Prepare a notification for owner(x) about x, because of u."""
    lists.about[lists.counts[NOTICES]] = x
    add(lists.because, lists.counts, NOTICES, u)


@kernel
def choose_batch(part, order, batch, pushes, mate, word, lists):
    """Take up to ``batch`` vertices of myV: mate_u <- h(C_u); match where a local mate agrees, ask where it is a ghost.

    ``pushes``: words are sent and not read, so the owner of a new mate is told.
    """
    lists.counts[CHANGED] = lists.counts[ASKING] = lists.counts[NEWLY] = 0
    for _ in range(min(batch, lists.counts[WORK])):
        lists.counts[WORK] -= 1
        u = lists.work[lists.counts[WORK]]
        lists.waiting[u] = False
        if lists.finished[u]:
            continue
        v = heaviest_candidate(part, order, word, u)
        if v != mate[u]:
            want(part, u, v, mate, word)
            add(lists.changed, lists.counts, CHANGED, u)
            if pushes and v >= part.owned:
                notify(v, u, lists)
        if v < 0:
            finish(u, lists)
        elif v >= part.owned:
            add(lists.asking, lists.counts, ASKING, u)
        elif mate[v] == u:
            matches(u, word, lists)
            matches(v, word, lists)


@kernel
def answer_batch(part, pushes, mate, word, lists):
    """After the mates of those who ask have been read: look again, match, or sleep."""
    for i in range(lists.counts[ASKING]):
        u = lists.asking[i]
        v, name = mate[u], np.int64(name_of(part, u))
        if is_gone(word[v], name):
            wake(u, lists)
        elif word[v] >> 1 == name:
            matches(u, word, lists)
            if word[v] & 1 == 0 and not pushes:
                notify(v, u, lists)


@kernel
def update(part, pushes, mate, word, lists):
    """For every newly matched u: its neighbours x with mate_x = u look again, here or, after a notice, at their owner.

    ``pushes``: the words of ghosts have not been read, so all that are not known to be matched are told.
    """
    for i in range(lists.counts[NEWLY]):
        u = lists.newly[i]
        name = np.int64(name_of(part, u))
        for e in range(part.indptr[u], part.indptr[u + 1]):
            x = np.int64(part.indices[e])
            if x == mate[u] or word[x] & 1:
                continue
            if x < part.owned:
                if mate[x] == u:
                    wake(x, lists)
            elif pushes or word[x] >> 1 == name:
                notify(x, u, lists)


@kernel
def wake_all(places, lists):
    """Read notifications: append them to myV. Places of -1 are none."""
    for i in range(places.size):
        if places[i] >= 0:
            wake(places[i], lists)


@kernel
def take_pushed(part, records, mate, word, lists):
    """Records (place of x, name of u, u's mate, u's flag) from other ranks: u's word is known now, x looks again."""
    for i in range(records.size // 4):
        x, name = records[4 * i], records[4 * i + 1]
        ghost = part.indices[entry_of(part, x, name)]
        word[ghost] = np.int64(records[4 * i + 2]) << 1 | np.int64(records[4 * i + 3])
        if mate[x] == ghost:
            wake(x, lists)


@kernel
def push_records(part, places, about, because, word, records):
    """The records of some notices."""
    for i in range(about.size):
        u = because[i]
        records[4 * i] = places[about[i] - part.owned]
        records[4 * i + 1] = np.int32(name_of(part, u))
        records[4 * i + 2] = np.int32(word[u] >> 1)
        records[4 * i + 3] = np.int32(word[u] & 1)


def words_to_mates(part: Part, mate: np.ndarray, word: np.ndarray) -> np.ndarray:
    """The mates of matched own vertices, by global number; -1 for the others."""
    return np.where(word[: len(mate)] & 1, part.names[mate], np.int32(-1))
