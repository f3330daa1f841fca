"""The protocols of the four PGAS variants, checked under many interleavings; and that the check finds known errors.

``machine.py`` runs the ranks of ``model.py``; here are the graphs, the cuts and the schedules. A run must give the
mates of ``reference.greedy``, and must not hang. Without any one of the repairs some run does not: a model that had
never seen a failure would prove little.
"""

from __future__ import annotations

from itertools import count
from random import Random

import pytest
from corpus import TIES, build, order_of, path
from machine import LONG, SCHEDULES, Hang, Machine, Watched, preempted, run
from model import CARE, ERRATA, VARIANTS, Case

from troth import reference
from troth.graph import Graph
from troth.order import Order, priorities

PROMPT = (0, 0.1, 0.5, 1)  # 0: a write is seen at the next flush and not before; 1: at once

# In the second round 0 turns to 1 (2 has gone with 3) while 1 (3 has gone) is matched with 4: the race of erratum (b).
RACE = build([(2, 3, 10), (0, 2, 9), (1, 3, 9), (1, 4, 8), (0, 1, 7), (0, 5, 1)])

# What each variant cannot do without.
NEEDS = {
    "sync-poll": ("count", "flush round"),
    "async-poll": ("candidate", "word", "flush poll"),
    "sync-notify": ("candidate", "word", "reread", "count", "flush choice", "flush match", "flush round"),
    "async-notify": (
        *("candidate", "word", "reread", "reset", "drain", "skip", "take back"),
        *("flush choice", "flush match", "flush slots", "flush reset", "flush done"),
    ),
}

every_variant = pytest.mark.parametrize("variant", VARIANTS)


def liked(graph: Graph, order: Order) -> list[list[int]]:
    """Every vertex's neighbours, the one it prefers first."""
    rank = priorities(order, graph.n).tolist()
    return [
        [v for v, _ in sorted(row, key=lambda item: (item[1], rank[item[0]]), reverse=True)]
        for row in reference.rows(graph)
    ]


def some_graph(random: Random) -> Graph:
    """2 to 7 vertices, some isolated; few distinct weights, or only one."""
    n, heaviest, density = random.randrange(2, 8), random.choice((1, 3, 20)), random.uniform(0.3, 1)
    pairs = [(u, v) for u in range(n) for v in range(u + 1, n) if random.random() < density]
    return build([(u, v, random.randrange(heaviest) + 1) for u, v in pairs], n)


def graphs(random: Random):
    """Endlessly: preferences and mates of small graphs under all tie rules, the race among them."""
    for i in count():
        graph = RACE if i % 6 == 0 else some_graph(random)
        order = order_of(graph, random.choice(TIES), random.getrandbits(32))
        yield liked(graph, order), reference.greedy(graph, order).tolist()


def some_case(likes: list[list[int]], random: Random, without=frozenset()) -> Case:
    """Any cut (a rank may own nothing), any options."""
    ranks = random.choice((1, 2, 2, 2, 3, 3, 4))
    return Case(
        likes,
        [random.randrange(ranks) for _ in likes],
        ranks,
        capacity=random.choice((1, 1, 2, 3, 64)),
        batch=random.choice((1, 2, 9)),
        gather=random.choice((1, 2, 9)),
        eager=random.random() < 0.3 or "reread" in without,  # neither read before nor after would fail by itself
        without=frozenset(without),
    )


def trial(variant: str, likes: list[list[int]], random: Random, without=frozenset()) -> list[int] | None:
    """One run of some case, under any schedule."""
    case = some_case(likes, random, without)
    return run(variant, case, random.getrandbits(32), random.choice(SCHEDULES), random.choice(PROMPT))


@every_variant
def test_repaired_variants_equal_greedy(variant):
    random = Random(f"repaired {variant}")
    for _, (likes, mates) in zip(range(300), graphs(random), strict=False):
        for _ in range(20):
            assert trial(variant, likes, random) == mates


@pytest.mark.parametrize(("variant", "raced"), [("sync-poll", set()), ("sync-notify", {"word"})])
def test_plain_puts_and_gets_are_enough_but_for_the_words_of_sync_notify(variant, raced):
    random, seen = Random(f"plain {variant}"), set()
    for _, (likes, _) in zip(range(200), graphs(random), strict=False):
        machine = Watched(variant, some_case(likes, random), Random(random.getrandbits(32)))
        machine.run(random.choice(SCHEDULES))
        seen |= {place[0] for place in machine.races}
    assert seen == raced


def outcomes(variant: str, case: Case, seed: int, prompt: float):
    """What comes out of every schedule with one or two preemptions; the seed gives the order of the work in a rank."""
    for first in range(1, LONG):
        machine = Machine(variant, case, Random(seed), prompt)
        try:
            yield machine.run(preempted(first))
        except Hang:
            yield None
        if machine.taken < first:
            return
        for second in range(first + 1, machine.taken + 1):
            yield run(variant, case, seed, preempted(first, second), prompt)


# One rank has the middle of a path, which turns from its left to its right neighbour; the other rank has the rest.
PATH = path([10, 9, 7, 8])
CUTS = ([0, 0, 1, 0, 0], [1, 1, 0, 1, 1])


@every_variant
@pytest.mark.parametrize(("prompt", "eager"), [(0, False), (1, True)])
def test_every_schedule_with_two_preemptions(variant, prompt, eager):
    order = order_of(PATH, "high")
    mates = reference.greedy(PATH, order).tolist()
    for owner in CUTS:
        case = Case(liked(PATH, order), owner, 2, capacity=1, eager=eager)
        assert all(outcome == mates for outcome in outcomes(variant, case, 2, prompt))


def test_two_preemptions_lose_the_wake_up_of_erratum_b():
    case = Case(liked(PATH, order_of(PATH, "high")), CUTS[0], 2, eager=True, without=frozenset({"reread"}))
    assert any(None in outcomes("async-notify", case, seed, 1) for seed in range(8))


@pytest.mark.parametrize("variant", ["sync-notify", "async-notify"])
def test_one_notice_per_crossing_edge_is_room_enough(variant):
    """Hence what is there for full queues is not needed."""
    random = Random(f"room {variant}")
    for _, (likes, mates) in zip(range(300), graphs(random), strict=False):
        owner = [random.randrange(3) for _ in likes]
        crossing = [owner[u] for u, row in enumerate(likes) for v in row if owner[u] != owner[v]]
        room = max([1, *map(crossing.count, range(3))])
        case = Case(likes, owner, 3, capacity=room, batch=2, without=frozenset({"take back", "drain", "skip"}))
        machine = Machine(variant, case, Random(random.getrandbits(32)))
        assert machine.run(random.choice(SCHEDULES)) == mates
        assert machine.most <= room


def fails(variant: str, without, trials: int) -> bool:
    random = Random(f"{variant} without {sorted(without)}")
    cases = graphs(random)
    for i in range(trials):
        if i % 5 == 0:
            likes, mates = next(cases)
        if trial(variant, likes, random, without) != mates:
            return True
    return False


@pytest.mark.parametrize(("variant", "name"), [(variant, name) for variant in NEEDS for name in NEEDS[variant]])
def test_each_repair_is_needed(variant, name):
    assert fails(variant, {name}, 8000)


@every_variant
def test_as_printed_all_fail(variant):
    assert fails(variant, set(ERRATA), 1000)


@every_variant
def test_other_repairs_are_not_needed(variant):
    """sync-poll stands on its barriers, async-poll on polling again: what the head of ``model.py`` says."""
    assert not fails(variant, ({*ERRATA} | {*CARE}) - {*NEEDS[variant]}, 500)
