"""A model of the four PGAS variants: ranks as generators, run under any interleaving of their shared accesses.

Reference: Thorsen and Merkey 2010, Algorithms 3 to 6 (sync-poll, async-poll, sync-notify, async-notify), which lose
matches or hang as printed. (a) to (d) mark the repairs. What follows is what the engines in ``src/troth/mpi`` must do;
the model below runs the same steps, under schedules that ``test_model.py`` chooses.

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

from collections.abc import Callable, Generator, Iterator
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
    """One rank's private state, and the variants as generators that yield every shared access and receive its value."""

    def __init__(self, me: int, case: Case, random: Random):
        self.me, self.case, self.random = me, case, random
        self.mine = [u for u, rank in enumerate(case.owner) if rank == me]
        self.known: dict[int, tuple[int | None, bool]] = dict.fromkeys(range(len(case.owner)), (None, False))
        self.finished: set[int] = set()
        self.work: list[int] = []
        self.notices: dict[int, list[int]] = {}
        self.front = 0
        self.looks: tuple[str, ...] = ("word",) if self.keeps("word") else ("mate", "matched")  # what a read is of

    # ---- what all variants share ----

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

    # ---- the polling variants ----

    def match(self, u: int) -> Steps:
        """Match u if its mate wants it, or finish it if it has none."""
        v = self.mate(u)
        if v is None:
            self.finished.add(u)
        elif self.mate(v) == u:
            for x, y in ((u, v), (v, u)):
                if self.is_mine(x) and x not in self.finished:
                    yield from self.write(x, y, True)
                    self.finished.add(x)

    def active(self) -> list[int]:
        return [u for u in self.mine if u not in self.finished]

    def mates(self) -> set[int]:
        return {self.mate(u) for u in self.active()} - {None}

    def sync_poll(self) -> Steps:
        self.looks = ("mate",)
        yield from self.begin()
        total = 1
        while total:
            if not self.keeps("count"):
                yield (WRITE, "S", 0)
                yield (FLUSH,)
            self.looks = ("mate",)
            yield from self.read(self.mates())
            for u in self.active():
                yield from self.match(u)
            yield from self.flush("flush round")
            yield (BARRIER,)
            self.looks = ("matched",)
            yield from self.read(self.mates())
            for u in self.active():
                yield from self.choose(u)
            yield from self.flush("flush round")
            if self.keeps("count"):
                total = yield (SUM, len(self.active()))
            else:
                yield (ADD, "S", len(self.active()))
                yield (BARRIER,)
                total = yield (READ, "S")

    def async_poll(self) -> Steps:
        yield from self.begin()
        while self.active():
            yield from self.read(self.mates())
            for u in self.active():
                yield from self.choose(u)
                yield from self.match(u)
            yield from self.flush("flush poll")

    # ---- the notifying variants ----

    def wake(self, u: int) -> None:
        if u not in self.work:
            self.work.append(u)

    def notify(self, v: int) -> None:
        self.notices.setdefault(self.case.owner[v], []).append(v)

    def settle(self, post: Callable[[int], Steps] | None = None) -> Steps:
        while self.work:
            batch = [self.work.pop(self.random.randrange(len(self.work))) for _ in self.work[: self.case.batch]]
            asking, wed = [], []
            for u in batch:
                if u in self.finished:
                    continue
                yield from self.choose(u)
                v = self.mate(u)
                if v is None:
                    self.finished.add(u)
                elif not self.is_mine(v):
                    asking.append(u)
                elif self.mate(v) == u:
                    wed += [u, v]
                    self.finished |= {u, v}
                    self.known[u], self.known[v] = (v, True), (u, True)
            yield from self.flush("flush choice")
            yield from self.read({self.mate(u) for u in asking})
            for u in asking:
                v = self.mate(u)
                if self.gone(v, u) and self.keeps("reread"):
                    self.wake(u)
                elif self.mate(v) == u:
                    wed.append(u)
                    self.finished.add(u)
                    if not self.known[v][1]:
                        self.notify(v)
            yield from self.update(wed)
            for owner in [owner for owner, notices in self.notices.items() if len(notices) >= self.case.gather]:
                if post:
                    yield from post(owner)

    def update(self, wed: list[int]) -> Steps:
        for u in wed:
            yield from self.write(u, self.mate(u), True)
        yield from self.flush("flush match")
        yield from self.read({x for u in wed for x in self.case.liked[u] if not self.known[x][1]})
        for u in wed:
            for x in self.case.liked[u]:
                if self.known[x] == (u, False) and x != self.mate(u):
                    if self.is_mine(x):
                        self.wake(x)
                    else:
                        self.notify(x)

    def fill(self, owner: int) -> Steps:
        """Write what fits of the notices to one owner, keep the others; returns how many those are."""
        notices, capacity = self.notices.pop(owner), self.case.capacity
        first = yield (ADD, ("count", owner), len(notices))
        fit = max(0, min(capacity - first, len(notices)))
        for place, v in enumerate(notices[:fit], first):
            yield (WRITE, ("slot", owner, place), v)
        if notices[fit:]:
            self.notices[owner] = notices[fit:]
        return len(notices) - fit

    def sync_notify(self) -> Steps:
        me = self.me
        yield from self.begin()
        self.work = self.shuffled(self.mine)
        total = 1
        while total:
            if not self.keeps("count"):
                yield (WRITE, "S", 0)
                yield (FLUSH,)
            yield from self.settle()
            for owner in list(self.notices):
                yield from self.fill(owner)
            yield from self.flush("flush round")
            yield (BARRIER,)
            count = yield (READ, ("count", me))
            for place in range(min(count, self.case.capacity)):
                v = yield (READ, ("slot", me, place))
                if v != -1:
                    self.wake(v)
            yield (WRITE, ("count", me), 0)
            yield from self.flush("flush round")
            left = len(self.work) + sum(map(len, self.notices.values()))
            if self.keeps("count"):
                total = yield (SUM, left)
            else:
                yield (BARRIER,)
                yield (ADD, "S", left)
                total = yield (READ, "S")

    def async_notify(self) -> Steps:
        yield from self.begin()
        self.work = self.shuffled(self.mine)
        while True:
            yield from self.settle(self.post)
            for owner in list(self.notices):
                yield from self.post(owner)
            if not self.active():
                break
            yield from self.drain()
        yield (WRITE, ("done", self.me), True)
        yield from self.flush("flush done")

    def drain(self) -> Steps:
        me = self.me
        reserved = yield (READ, ("count", me))
        while self.front < min(reserved, self.case.capacity):
            v = yield (READ, ("slot", me, self.front))
            if v == -1:
                break
            self.wake(v)
            yield (WRITE, ("slot", me, self.front), -1)
            self.front += 1
        if reserved and (self.front == reserved or not self.keeps("reset")):
            yield from self.flush("flush reset")
            before = yield (SWAP, ("count", me), reserved, 0)
            if before == reserved:
                self.front = 0

    def post(self, owner: int) -> Steps:
        while owner in self.notices:
            over = yield from self.fill(owner)
            yield from self.flush("flush slots")
            if not over:
                return
            if self.keeps("take back"):
                yield (ADD, ("count", owner), -over)
            while (yield (READ, ("count", owner))) >= self.case.capacity:
                if self.keeps("skip") and (yield (READ, ("done", owner))):
                    del self.notices[owner]
                    return
                if self.keeps("drain"):
                    yield from self.drain()


# ---- the machine ----

SPIN = 30  # steps without any change of the memory after which a rank that runs alone gives way
QUIET = 200  # such steps of every rank after which nothing will ever change: more than two passes of any loop
LONG = 10_000  # steps that no run on a small graph needs

Turns = Iterator[tuple[int, int]]  # (rank, how many steps it may take before the next turn)


def uniform(machine: Machine) -> Turns:
    """One step of any rank."""
    random, ranks = machine.random.random, machine.case.ranks
    while True:
        yield int(random() * ranks), 1


def in_turn(machine: Machine) -> Turns:
    """One step of each."""
    while True:
        yield from ((rank, 1) for rank in range(machine.case.ranks))


def bursts(machine: Machine) -> Turns:
    """Some steps of any rank, few or many."""
    while True:
        yield machine.random.randrange(machine.case.ranks), 1 << machine.random.randrange(7)


def to_the_end(machine: Machine) -> Turns:
    """Each as far as it can go, always in the same order."""
    line = machine.random.sample(range(machine.case.ranks), machine.case.ranks)
    while True:
        yield from ((rank, LONG) for rank in line)


def delays(machine: Machine) -> Turns:
    """One rank sleeps for long while the others go on; then another one."""
    random, ranks = machine.random, machine.case.ranks
    while True:
        asleep = random.randrange(ranks)
        for _ in range(random.randrange(300)):
            rank = int(random.random() * ranks)
            if rank != asleep:
                yield rank, 1
        yield asleep, 1 << random.randrange(5)


def preempted(*when: int) -> Callable[[Machine], Turns]:
    """Each rank as far as it can go, but the next one takes over after so many steps in all."""

    def schedule(machine: Machine) -> Turns:
        rank, ranks = 0, machine.case.ranks
        while True:
            if machine.taken in when or not machine.moves[rank] or machine.idle[rank] > SPIN:
                rank = (rank + 1) % ranks
            yield rank, 1

    return schedule


SCHEDULES = (uniform, in_turn, bursts, to_the_end, delays)


class Hang(Exception):  # noqa: N818
    """No rank can move, or none will ever change anything."""


class Machine:
    """Shared memory whose writes come late. ``prompt``: the chance that one is seen at once, or at any later step."""

    def __init__(self, variant: str, case: Case, random: Random, prompt: float = 1):
        n, ranks = len(case.owner), case.ranks
        self.case, self.random, self.prompt = case, random, prompt
        self.memory: dict = {("matched", v): False for v in range(n)} | {"S": 0}
        self.memory |= {("count", rank): 0 for rank in range(ranks)} | {("done", rank): False for rank in range(ranks)}
        self.late: list[dict] = [{} for _ in range(ranks)]  # each rank's writes that others do not see yet
        self.steps = [getattr(Rank(me, case, random), variant.replace("-", "_"))() for me in range(ranks)]
        self.answer: list = [None] * ranks  # what the last access of each rank returned
        self.meeting: list = [None] * ranks  # the barrier or sum that a rank waits in
        self.moves = [True] * ranks  # neither in a meeting nor at its end
        self.ended = 0
        self.idle = [0] * ranks  # steps of each rank since anything changed
        self.taken = 0
        self.most = 0  # the highest count of any queue

    def changed(self) -> None:
        self.idle = [0] * self.case.ranks

    def store(self, place, value) -> None:
        if self.memory.get(place, -1) != value:
            self.memory[place] = value
            self.changed()

    def step(self, rank: int) -> None:
        """One access of one rank; before that, a late write of any rank may arrive."""
        self.taken += 1
        self.idle[rank] += 1
        if 0 < self.prompt < 1 and self.random.random() < self.prompt:
            late = self.random.choice(self.late)
            if late:
                place = self.random.choice(list(late))
                self.store(place, late.pop(place))
        try:
            access = self.steps[rank].send(self.answer[rank])
        except StopIteration:
            self.moves[rank] = False
            self.ended += 1
            self.changed()
        else:
            self.answer[rank] = self.perform(rank, *access)
        if self.idle[rank] > QUIET or not self.moves[rank]:
            self.check()

    def perform(self, rank: int, kind: int, place=None, value=None, new=None) -> object:
        memory, late = self.memory, self.late[rank]
        if kind == READ:
            return late[place] if place in late else memory.get(place, -1)  # a rank sees its own writes
        if kind == WRITE:
            late[place] = value
            if self.random.random() < self.prompt:
                self.store(place, late.pop(place))
        elif kind == FLUSH:
            while late:
                self.store(*late.popitem())
        elif kind == ADD:
            before = memory[place]
            self.store(place, before + value)
            self.most = max(self.most, before + value)
            return before
        elif kind == SWAP:
            before = memory[place]
            if before == value:
                self.store(place, new)
            return before
        else:
            self.meeting[rank], self.moves[rank] = (kind, place), False
        return None

    def check(self) -> None:
        """Let a complete meeting end; find out whether anybody still has something to do."""
        ranks = self.case.ranks
        kinds = {meeting and meeting[0] for meeting in self.meeting}
        if kinds in ({BARRIER}, {SUM}):
            total = sum(value for _, value in self.meeting) if kinds == {SUM} else None
            self.answer, self.meeting, self.moves = [total] * ranks, [None] * ranks, [True] * ranks
            self.changed()
        stuck = all(idle > QUIET for idle, moves in zip(self.idle, self.moves, strict=True) if moves)
        if (stuck and self.ended < ranks) or self.taken > LONG:
            raise Hang

    def run(self, schedule: Callable[[Machine], Turns]) -> list[int]:
        """The mates that the shared words tell when all ranks have left."""
        turns = schedule(self)
        while self.ended < self.case.ranks:
            rank, length = next(turns)
            quiet = 0
            while length and quiet < SPIN and self.moves[rank]:
                self.step(rank)
                length -= 1
                quiet = quiet + 1 if self.idle[rank] else 0
        return [self.word(v) for v in range(len(self.case.owner))]

    def word(self, v: int) -> int:
        apart = self.memory.get(("mate", v)), self.memory["matched", v]
        mate, matched = self.memory.get(("word", v), apart)
        return mate if matched else -1


class Watched(Machine):
    """A machine that notes races: places that one rank writes and another reads or writes between the same meetings."""

    def __init__(self, *words):
        super().__init__(*words)
        self.readers: dict = {}
        self.writers: dict = {}
        self.races: set = set()
        self.met = 0

    def perform(self, rank: int, kind: int, place=None, value=None, new=None) -> object:
        if kind in (READ, WRITE):
            (self.readers if kind == READ else self.writers).setdefault(place, set()).add(rank)
            writers = self.writers.get(place, set())
            if writers and len(writers | self.readers.get(place, set())) > 1:
                self.races.add(place)
        elif kind in (BARRIER, SUM):
            self.met += 1
            if self.met % self.case.ranks == 0:
                self.readers, self.writers = {}, {}
        return super().perform(rank, kind, place, value, new)


def run(variant: str, case: Case, seed: int, schedule=uniform, prompt: float = 1) -> list[int] | None:
    """The mates after one run, or None where it hangs."""
    try:
        return Machine(variant, case, Random(seed), prompt).run(schedule)
    except Hang:
        return None
