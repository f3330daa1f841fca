"""Shared memory whose writes come late, and the schedules under which ranks run on it: see ``model.py``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random

from model import ADD, BARRIER, FLUSH, READ, SUM, SWAP, WRITE, Case
from variants import Variants

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
        self.steps = [getattr(Variants(me, case, random), variant.replace("-", "_"))() for me in range(ranks)]
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
