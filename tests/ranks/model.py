"""A model of the four PGAS variants: ranks as generators, run under any interleaving of their shared accesses.

Reference: Thorsen and Merkey 2010, Algorithms 3 to 6 (sync-poll, async-poll, sync-notify, async-notify), which lose
matches or hang as printed. (a) to (d) mark the repairs. What follows is what the engines in ``src/troth/ranks`` must
do; the model runs the same steps: here is what a rank knows and how it reads, writes and chooses, in ``variants.py``
the loops of the variants, in ``machine.py`` the memory and the schedules, of which ``test_model.py`` makes use.

Shared words
------------
- ``word[v]``, written by ``owner(v)`` alone: (mate, matched) in one word, so that nobody reads the mate of one moment
  with the flag of another (b). It only moves forward: free, with ever worse mates; then matched, and never again.
- A queue for each rank: ``slot[0 .. capacity-1]``, all -1 at first; ``count``, the slots reserved; ``done``. The reader
  keeps ``front`` for itself.
- A write is seen by others at some time up to the writer's next *flush*, and writes to different places in any order.
  Each flush below is needed: the tests take them away one by one and see a failure. Reads and atomic operations return
  a value, hence are complete. A get of many words reads them one after the other in any order, never a snapshot.

What a rank knows
-----------------
A rank has its own words, and for every ghost v ``known[v]``, the word as last read (free, no mate, at first). Old news
is safe: *matched* is for ever; and once ``mate_v = u`` was read, it stays true until u itself is matched elsewhere,
since v leaves u for no other reason.

    gone(v, u):   known[v] is matched and its mate is not u          (a) v matched with u stays u's candidate
    h(u):         u's heaviest neighbour v with not gone(v, u), or null; by what is known, without reading
    finished(u):  u is matched, or h(u) = null (all its neighbours are matched elsewhere, for ever)

All variants begin with: word[u] <- (heaviest neighbour, free) for u in myV; flush; barrier. All end with a flush; those
without a barrier in the loop need one after it, before the windows go, for others still read the words of ranks that
have left. A vertex without neighbours is finished at once. Ranks may own nothing.

sync-poll
---------
Needs (c) only, and mate and matched may be two words: mates are not written while they are compared, nor flags while
candidates are dropped. So no word is read between two barriers between which it is written: plain gets do.

    repeat
        read the mates of mate_u, for all u in myV with remote mates                     (in bulk)
        for u in myV:
            v <- mate_u
            if v = null: remove u from myV
            else if mate_v = u: matched_u <- true; remove u from myV                     (a local v likewise)
        flush; barrier
        read the flags of all remote candidates that may be needed                       (in bulk)
        for u in myV: mate_u <- h(u) where that changed
        flush; total <- sum over all ranks of |myV|                                      (c) not a shared S
    until total = 0

async-poll
----------
No barrier, no collective. Needs (a) and the one word. What a poll missed, the next one sees: no re-read is needed.

    while myV is not empty:
        read word[mate_u] of all u in myV with remote mates                              (in bulk)
        for u in myV:
            if gone(mate_u, u): mate_u <- h(u); word[u] <- (mate_u, free)
            v <- mate_u
            if v = null: remove u from myV
            else if mate_v = u: word[u] <- (v, matched); remove u from myV               (a local v likewise)
        flush                                                        (else no other rank need ever see the writes)

settle: the inner loop of both notifying variants
-------------------------------------------------
u sleeps when its remote mate v is free and wants another one. Two things may end that: v is matched elsewhere, or v
chooses u. In both cases v's owner writes word[v], *then* reads word[u]; and u's owner wrote word[u], *then* read
word[v]. At least one of the reads sees the other's write: u's (then u does not sleep) or v's (then it posts a notice
about u). So the order write, flush, read is the whole argument, for one vertex or for a batch of any size.

    settle(work):
        while work is not empty:
            take a batch of u out of work, without the finished ones
            for u in batch:
                v <- h(u); word[u] <- (v, free) where that changed
                if v = null: u is finished
                else if v is local: if mate_v = u: u and v are newly matched
                else: u asks
            flush
            read word[mate_u] of all u that ask                                          (in bulk)  (b)
            for u that asks, v <- mate_u:
                if gone(v, u): put u back into work                                      (b)
                else if mate_v = u: u is newly matched; if v is not yet matched: notify owner(v) about v
                else: u sleeps
            update(newly matched)

    update(newly matched):
        word[u] <- (mate_u, matched) for all of them; flush
        read the words of all their remote neighbours x that are not known to be matched (in bulk)
        for u, for its neighbours x other than mate_u, free and with mate_x = u:
            if x is local: put x into work
            else: notify owner(x) about x

A notice is the number of a vertex to look at again: it may come late, twice or for nothing. "Look again" must read the
mate's word afresh although the choice has not changed: the step that asks does. A notice about x because of u is posted
once at most (u is matched once: with x, or elsewhere), so a queue of one notice per crossing edge never overflows, let
alone the default of two; smaller ones must work as well. Notices may be gathered in batches, but are posted before the
rank waits or leaves.

sync-notify
-----------
    work <- myV
    repeat
        settle(work)
        for each owner with notices prepared:
            first <- fetch-and-add(count[owner], number of notices)
            write those that fit into slot[first ..] below capacity; the others stay prepared for the next round
        flush; barrier
        work <- the slots [0, min(count, capacity)); count <- 0; flush
        total <- sum over all ranks of |work| + notices still prepared                   (c) also the second barrier
    until total = 0

async-notify
------------
    work <- myV
    repeat
        settle(work), where notices are posted by post()
        drain()
    until all vertices of this rank are finished; then done <- true; flush

    drain():                                         (the owner's end of its queue; also called while it waits in post)
        reserved <- count
        while front < min(reserved, capacity) and slot[front] != -1:
            put the vertex in slot[front] into work, slot[front] <- -1, front <- front + 1
        if front = reserved > 0:                                     (d) all that was reserved has been read
            flush                                                    (else a late -1 wipes out a new notice)
            if compare-and-swap(count, reserved, 0) succeeds: front <- 0

    post(owner, notices):
        loop
            first <- fetch-and-add(count[owner], number of notices)
            write those that fit into slot[first ..] below capacity; flush               (never wait with one unwritten)
            if all fitted: return
            fetch-and-add(count[owner], -(number that did not fit)); keep those
            while count[owner] >= capacity:          (read it: asking again by fetch-and-add would keep it above front)
                if done[owner]: return               (all its vertices are finished: nobody needs the notice)
                drain()                              (else two ranks with full queues wait for each other)

While some rank has asked for too much, count > capacity >= front: no reset can come between an add and its take-back.
The reset cannot lose a slot that is reserved but unwritten: the reader stops there, hence front < count.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from random import Random

READ, WRITE, ADD, SWAP, FLUSH, BARRIER, SUM = range(7)
VARIANTS = ("sync-poll", "async-poll", "sync-notify", "async-notify")

# What a run can be made to go without, to see it fail. Letters are those of the errata in the list of papers.
ERRATA = {
    "candidate": "(a) v matched with u stays u's candidate",
    "word": "(b) mate and matched are one word",
    "reread": "(b) after publishing its choice, a vertex re-reads its mate and rescans if that is gone",
    "count": "(c) the ranks reduce a count instead of sharing a set S",
    "reset": "(d) a queue is reset only when all that was reserved has been read",
}
CARE = {
    "drain": "a poster that finds no room drains its own queue",
    "skip": "a poster that finds no room leaves owners that are done alone",
    "take back": "a poster that finds no room gives back what it reserved in vain",
    "flush choice": "before the mate's word is read",
    "flush match": "before the neighbours' words are read",
    "flush slots": "before the poster waits",
    "flush reset": "between the -1 in the slots and the reset",
    "flush done": "before leaving",
    "flush poll": "after each pass of async-poll",
    "flush round": "before the barriers",
}

Access = tuple  # (READ, place), (WRITE, place, value), (ADD, place, amount), (SWAP, place, old, new), ..., (SUM, value)
Steps = Generator[Access, object, object]


@dataclass
class Case:
    """A graph cut into parts, and the free choices of an implementation."""

    liked: list[list[int]]  # every vertex's neighbours, the heaviest first
    owner: list[int]
    ranks: int
    capacity: int = 64  # of each queue
    batch: int = 1  # how many vertices settle takes at once
    gather: int = 1  # how many notices to one owner are posted together
    eager: bool = False  # read a word before choosing it, as printed; else choose by what is known
    without: frozenset[str] = frozenset()


class Rank:
    """One rank's private state, and what all variants share, as generators: they yield every shared access."""

    def __init__(self, me: int, case: Case, random: Random):
        self.me, self.case, self.random = me, case, random
        self.mine = [u for u, rank in enumerate(case.owner) if rank == me]
        self.known: dict[int, tuple[int | None, bool]] = dict.fromkeys(range(len(case.owner)), (None, False))
        self.finished: set[int] = set()
        self.work: list[int] = []
        self.notices: dict[int, list[int]] = {}
        self.front = 0
        self.looks: tuple[str, ...] = ("word",) if self.keeps("word") else ("mate", "matched")  # what a read is of

    def keeps(self, repair: str) -> bool:
        return repair not in self.case.without

    def is_mine(self, v: int) -> bool:
        return self.case.owner[v] == self.me

    def mate(self, u: int) -> int | None:
        return self.known[u][0]

    def gone(self, v: int, u: int) -> bool:
        mate, matched = self.known[v]
        return matched and (mate != u or not self.keeps("candidate"))

    def h(self, u: int) -> int | None:
        return next((v for v in self.case.liked[u] if not self.gone(v, u)), None)

    def shuffled(self, vertices) -> list[int]:
        return self.random.sample(list(vertices), len(vertices))

    def flush(self, where: str) -> Steps:
        if self.keeps(where):
            yield (FLUSH,)

    def read(self, vertices: set[int]) -> Steps:
        """Words of other ranks, in any order."""
        for v in self.shuffled(vertices):
            if self.is_mine(v):
                continue
            if "word" in self.looks:
                self.known[v] = yield (READ, ("word", v))
                continue
            mate, matched = self.known[v]
            if "mate" in self.looks:
                mate = yield (READ, ("mate", v))
            if "matched" in self.looks:
                matched = yield (READ, ("matched", v))
            self.known[v] = mate, matched

    def write(self, u: int, mate: int | None, matched: bool) -> Steps:
        before, self.known[u] = self.known[u], (mate, matched)
        if "word" in self.looks:
            yield (WRITE, ("word", u), (mate, matched))
            return
        if mate != before[0]:
            yield (WRITE, ("mate", u), mate)
        if matched:
            yield (WRITE, ("matched", u), True)

    def choose(self, u: int) -> Steps:
        """Bring mate_u up to date."""
        v = self.h(u)
        while self.case.eager and v is not None:
            yield from self.read({v})
            if not self.gone(v, u):
                break
            v = self.h(u)
        if v != self.mate(u):
            yield from self.write(u, v, False)

    def begin(self) -> Steps:
        for u in self.mine:
            yield from self.write(u, self.h(u), False)
        yield (FLUSH,)
        yield (BARRIER,)
