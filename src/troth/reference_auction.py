"""The reference of the auction, in plain Python: what every engine named "auction" must return, in every mate.

Every vertex is a bidder and, once more, an item with a price. Bidders ask for the neighbour of greatest profit and
raise its price. In the end a bidder has at most one item and an item at most one bidder, so these *arcs* are paths and
cycles. On them the heaviest matching is found exactly; it is merged with the stable matching, and improved by exchanges
and walks.

*Guarantee.* Let p be the prices at the end and W the weight of all arcs, and call the sum of
max(0, max_v (w(u, v) - p(v))) over bidders u without an item *unmet*. When u won v, it bid all that v was worth to it
more than its second choice, b2, and eps w(u, v) above: its profit at the price that it pays is b2 - eps w(u, v). No
other item has offered it more than b2 since, for prices only rise. So for every u that holds a v,
(1 + eps) w(u, v) - p(v) >= max(0, max_x (w(u, x) - p(x))). Add these up, and the unmet profit for all who hold nothing.
Items that no one holds have price 0, for an item that was bid for is never free again. Hence
(1 + eps) W + unmet >= sum of p + sum of max(0, profits) >= 2 OPT, since half of that is the sum of a feasible dual
(``api/proof.py``). In a bipartite graph the arcs from left to right are a matching, and so are those from right to
left: the heavier weighs W / 2 or more. In all graphs, a path or an even cycle has a matching of half its weight, and an
odd cycle one of a third or more. Prices are float32, and sums of them are of whole 2^-30: the promise loses 2^-20, and
2^-30 of the greatest weight for every vertex.

*Numbers.* Prices and bids are float32, calculated in the written order, with weights as ``float32(w 2^k)``: the
greatest is in [1, 2), none is below 2^-100, so that nothing is denormal. All else compares weights in *units*, whole
numbers of up to 60 bits (``units.py``).
"""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np

from troth.graph import Graph
from troth.order import BID, WALK, Order, by_degree, hash_int, make_order, priorities
from troth.reference import greedy, rows

LEAST = np.float32(2.0**-100)
MONEY = 2**30  # what a price of 1 counts, in whole numbers, where prices are added up
UNIT_BITS = 60
STEPS = 8  # of a walk: so many weights of 60 bits add up in 63


def values(graph: Graph) -> list[np.ndarray]:
    """The weights of every row, as float32 that prices are compared with."""
    weights = graph.weights.astype(np.float64)
    shift = 1 - math.frexp(weights.max() if weights.size else 1.0)[1]
    scaled = np.maximum(np.ldexp(weights, shift).astype(np.float32), LEAST)
    return np.split(scaled, graph.indptr[1:-1]) if graph.n else []


def units(graph: Graph) -> list[dict[int, int]]:
    """For every vertex, its neighbours and the weights in units: exact integers, or floats rounded up."""
    greatest = max(graph.weights.tolist(), default=1)
    if graph.weights.dtype.kind == "f":
        shift = UNIT_BITS - 1 - math.frexp(greatest)[1]
        return [{v: max(1, math.ceil(_scaled(w, shift))) for v, w in row} for row in rows(graph)]
    shift = UNIT_BITS - int(greatest).bit_length()
    return [{v: max(1, int(w) << shift if shift >= 0 else int(w) >> -shift) for v, w in row} for row in rows(graph)]


def _scaled(w: float, shift: int) -> float:
    """w 2^shift; 2^shift itself may be beyond the floats."""
    return w * math.ldexp(1.0, shift // 2) * math.ldexp(1.0, shift - shift // 2)


class Chooser:
    """What vertices choose from: profits of their neighbours, ties settled by a scramble of their own.

    Of equal profits the neighbour of greatest ``priority(v ^ c(u))`` is best, where ``priority`` is that of
    ``ties="hash"`` and c(u) is the upper half of ``hash(seed, BID, u)``: a bijection for every u, so no two are equal,
    and two vertices with the same neighbours disagree about which is best.
    """

    def __init__(self, graph: Graph, seed: int) -> None:
        self.values, self.seed, self.order = values(graph), seed, make_order("hash", seed)
        self.names = [np.array([v for v, _ in row], np.int64) for row in rows(graph)]

    def best_two(self, u: int, prices: np.ndarray) -> list[tuple[np.float32, int]]:
        """The two greatest positive profits w(u, v) - price(v), with their v; fewer where there are fewer."""
        profits = self.values[u] - prices[self.names[u]]
        mask = hash_int(self.seed, BID, u) >> 32
        found = [
            (float(profit), _priority(self.order, v ^ mask), v)
            for profit, v in zip(profits.tolist(), self.names[u].tolist(), strict=True)
            if profit > 0
        ]
        return [(np.float32(profit), v) for profit, _, v in sorted(found, reverse=True)[:2]]


def _priority(order: Order, v: int) -> int:
    x = ((v ^ int(order.flip)) * int(order.mul1)) % 2**32
    x ^= x >> int(order.shift)
    return (x * int(order.mul2)) % 2**32


# ---- the auction ----


def auction_prices(
    graph: Graph, order: Order, seed: int = 0, eps: float = 0.02, slack: float = 0.02, rounds: int = 32
) -> tuple[np.ndarray, np.ndarray, int]:
    """Rounds of bids: the prices, the bidder who holds each item (-1: no one), and how many rounds there were.

    A round: every active u, from the prices of the last round, finds its greatest profit b1, at v, and the second
    greatest b2 (0 where there is none), and bids (p(v) + (b1 - b2)) + eps (p(v) + b1), or the next float above p(v)
    where that is more. Without a profit it leaves for good. The bidder of the greatest (bid, priority) gets the item;
    those who lose, and whom it is taken from, are active in the next round.

    The end: no one is active; or ``rounds`` are over; or the profits b1 of the active add up to ``slack`` times all
    prices or less: then the round's bids do not count. Both sums are of whole numbers, floor(2^30 x).
    """
    choose, rank = Chooser(graph, seed), priorities(order, graph.n).tolist()
    prices, holder = np.zeros(graph.n, np.float32), np.full(graph.n, -1, np.int32)
    eps32, active, done = np.float32(eps), list(range(graph.n)), 0
    while active and done < rounds:
        bids: dict[int, list[tuple[np.float32, int, int]]] = {}
        unmet = 0
        for u in active:
            found = choose.best_two(u, prices)
            if found:
                (b1, v), b2 = found[0], found[1][0] if len(found) > 1 else np.float32(0)
                p = prices[v]
                bid = (p + (b1 - b2)) + eps32 * (p + b1)
                bids.setdefault(v, []).append((max(bid, np.nextafter(p, np.float32(4))), rank[u], u))
                unmet += int(float(b1) * MONEY)
        paid = sum(int(float(p) * MONEY) for p in prices)
        if float(unmet) <= slack * float(paid):
            break
        active = []
        for v, offers in bids.items():
            active += [u for _, _, u in offers] + ([int(holder[v])] if holder[v] >= 0 else [])
            prices[v], _, winner = max(offers)
            active.remove(winner)
            holder[v] = winner
        active.sort()
        done += 1
    return prices, holder, done


# ---- paths and cycles ----


def heaviest_on_paths(graph: Graph, seed: int, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """The heaviest matching of the edges {v, first[v]} and {v, second[v]}, which are paths and cycles.

    -1 means no edge; a neighbour that has v as its own first or second is another edge's, or the same one's, end.
    Where both of v's are one vertex, that is a pair.

    A path is walked from its end that has a first, or, if both or none have, from the end of greater priority; a cycle
    from its vertex of greatest priority towards its first (``ties="hash"``, with the seed). Going along, d(t) =
    max(0, w(t) - d(t - 1)) is what the t-th edge gains; edge t is taken if d(t) > 0 and edge t + 1 is not. In a cycle
    the first edge is taken if that is heavier than without it.
    """
    weight, rank = units(graph), priorities(make_order("hash", seed), graph.n).tolist()
    ahead, behind, n = first.tolist(), second.tolist(), graph.n
    mate, done = [-1] * n, [False] * n

    def walk(start: int, came: int) -> list[int]:
        """The vertices from ``start`` on, away from ``came``; a cycle ends before its start comes again."""
        found = [start]
        while True:
            x = found[-1]
            y = behind[x] if ahead[x] == came else ahead[x]
            if y < 0 or y == start:
                return found
            found.append(y)
            came = x

    def gains(path: list[int]) -> list[int]:
        d = [0]
        for x, y in pairwise(path):
            d.append(max(0, weight[x][y] - d[-1]))
        return d[1:]

    def take(path: list[int]) -> None:
        d, t = gains(path), len(path) - 2
        while t >= 0:
            if d[t] > 0:
                mate[path[t]], mate[path[t + 1]] = path[t + 1], path[t]
                t -= 1
            t -= 1

    for v in range(n):
        if ahead[v] == behind[v]:
            mate[v], done[v] = ahead[v], True
    for v in range(n):
        if not done[v] and (ahead[v] < 0) != (behind[v] < 0):
            path = walk(v, -1)
            last = path[-1]
            if (ahead[v] >= 0, rank[v]) < (ahead[last] >= 0, rank[last]):
                path.reverse()
            take(path)
            for x in path:
                done[x] = True
    for v in sorted(range(n), key=lambda v: -rank[v]):
        if not done[v]:
            cycle = walk(v, behind[v])
            inside, outside = cycle[2:], [*cycle[1:], v]
            if weight[v][cycle[1]] + sum(gains(inside)) > sum(gains(outside)):
                mate[v], mate[cycle[1]] = cycle[1], v
                take(inside)
            else:
                take(outside)
            for x in cycle:
                done[x] = True
    return np.array(mate, np.int32)


# ---- polish ----


def augment(
    graph: Graph, order: Order, seed: int, mates: np.ndarray, looking: set[int] | None = None
) -> tuple[np.ndarray, set[int]]:
    """One round of exchanges: pairs and free vertices (*centres*) leave what they have for better neighbours.

    An *arm* of a leads to the neighbour x of greatest profit w(a, x) - w(x, mate of x), in float32 as in the auction. A
    pair {a, b}, a < b, gives up its edge for an arm at a, one at b, or both. Where both best arms lead to one vertex,
    one of the two takes its second best: what leaves more profit; a keeps its best where that is equal. A free vertex
    has one arm. A centre wants to change if its arms' profits exceed what it has, in float32, and if the gain is
    positive, in units; there, two arms that lead to the ends of one pair give that pair up once.

    Every centre claims its own pair and those at its arms. Each goes to the greatest (gain, priority of the centre's
    smaller vertex), the gain rounded to float64 and then to float32, and a centre that gets all its claims changes.

    Only centres of vertices in ``looking`` take part, all where it is None. Returns the new mates, and the vertices of
    all pairs that were claimed: there is most to gain for those in another round.
    """
    choose, weight, n = Chooser(graph, seed), units(graph), graph.n
    rank, mate = priorities(order, n).tolist(), mates.tolist()
    own = [weight[v][mate[v]] if mate[v] >= 0 else 0 for v in range(n)]
    held = np.zeros(n, np.float32)
    for v in range(n):
        if mate[v] >= 0:
            held[v] = choose.values[v][choose.names[v].tolist().index(mate[v])]
    zero = np.float32(0)

    def arms(v: int) -> list[tuple[np.float32, int]]:
        return [*choose.best_two(v, held), (zero, -1), (zero, -1)][:2] if v >= 0 else [(zero, -1)] * 2

    def pair(x: int) -> int:
        return min(x, mate[x]) if mate[x] >= 0 else x

    wishes: dict[int, tuple[tuple[np.float32, int], int, int]] = {}
    claims: dict[int, tuple[np.float32, int]] = {}
    for a in range(n):
        b = mate[a]
        if 0 <= b < a or (looking is not None and a not in looking):
            continue
        (here, x), (here2, x2) = arms(a)
        (there, y), (there2, y2) = arms(b)
        if x >= 0 and x == y:
            if here + there2 >= here2 + there:
                there, y = there2, y2
            else:
                here, x = here2, x2
        gain = -own[a]
        gain += weight[a][x] - own[x] if x >= 0 else 0
        gain += weight[b][y] - (own[y] if x < 0 or mate[x] != y else 0) if y >= 0 else 0
        if (here + there) - held[a] > 0 and gain > 0:
            wishes[a] = (np.float32(float(gain)), rank[a]), x, y
            for p in {pair(z) for z in (a, x, y) if z >= 0}:
                claims[p] = max(claims.get(p, wishes[a][0]), wishes[a][0])
    fresh = list(mate)
    for a, (claim, x, y) in wishes.items():
        if all(claims[pair(z)] == claim for z in (a, x, y) if z >= 0):
            for z in (a, x, y):
                if z >= 0:
                    fresh[z] = -1
                    if mate[z] >= 0:
                        fresh[mate[z]] = -1
            for one, other in ((a, x), (mate[a], y)):
                if other >= 0:
                    fresh[one], fresh[other] = other, one
    touched = {v for p in claims for v in (p, mate[p]) if v >= 0}
    return np.array(fresh, np.int32), touched


# ---- walks ----


def walk(
    graph: Graph, order: Order, seed: int, turn: int, mates: np.ndarray, prices: np.ndarray
) -> tuple[np.ndarray, set[int]]:
    """One round of walks: free vertices look for each other along edges that pay, in up to ``STEPS`` steps.

    A free vertex f whose price is not 0 takes a neighbour y, whose mate z is then free and takes another, and so on, or
    ends at a y that is free. The y that z takes is that of greatest ``w(z, y) - price(y)``, in float32 as in the
    auction, and rounded once more by adding 4 (a free y costs nothing); of equal ones that of greatest
    ``priority(y ^ c(z))``, where c(z) is the upper half of ``hash(seed, WALK, turn, z)``. It is neither f nor of a pair
    that was given up on the way. What the walk has gained, in units, is counted after each step; it is as long as where
    that is greatest for the first time, and counts if it is positive.

    Every walk claims f and the pairs that it gives up, as exchanges do, by (gain, priority of f); a walk that gets all
    of them is made. Returns the new mates, and the vertices of all pairs that were claimed.
    """
    choose, weight, n = Chooser(graph, seed), units(graph), graph.n
    rank, mate = priorities(order, n).tolist(), mates.tolist()
    wishes: dict[int, tuple[tuple[np.float32, int], list[int]]] = {}
    claims: dict[int, tuple[np.float32, int]] = {}

    def pair(x: int) -> int:
        return min(x, mate[x]) if mate[x] >= 0 else x

    def take(z: int, closed: set[int]) -> int:
        """The neighbour that z takes, -1 where there is none."""
        mask = hash_int(seed, WALK, turn, z) >> 32
        found = [
            (
                float((w - (prices[v] if mate[v] >= 0 else np.float32(0))) + np.float32(4)),
                _priority(choose.order, v ^ mask),
                v,
            )
            for v, w in zip(choose.names[z].tolist(), choose.values[z], strict=True)
            if pair(v) not in closed
        ]
        return max(found)[2] if found else -1

    for f in range(n):
        if mate[f] >= 0 or not prices[f] > 0:
            continue
        z, gain, steps, closed = f, 0, list[int](), {f}
        best, length = 0, 0
        while z >= 0 and len(steps) < STEPS:
            y = take(z, closed)
            if y < 0:
                break
            steps.append(y)
            closed.add(pair(y))
            gain += weight[z][y] - (weight[y][mate[y]] if mate[y] >= 0 else 0)
            if gain > best:
                best, length = gain, len(steps)
            z = mate[y]
        if length:
            wishes[f] = (np.float32(float(best)), rank[f]), steps[:length]
            for p in {pair(x) for x in (f, *steps[:length])}:
                claims[p] = max(claims.get(p, wishes[f][0]), wishes[f][0])
    fresh = list(mate)
    for f, (claim, steps) in wishes.items():
        if all(claims[pair(x)] == claim for x in (f, *steps)):
            z = f
            for y in steps:
                fresh[z], fresh[y] = y, z
                z = mate[y]
            if z >= 0:
                fresh[z] = -1
    touched = {v for p in claims for v in (p, mate[p]) if v >= 0}
    return np.array(fresh, np.int32), touched


# ---- all of it ----


def auction(
    graph: Graph,
    order: Order,
    seed: int = 0,
    eps: float = 0.02,
    slack: float = 0.02,
    rounds: int = 32,
    polish: int = 2,
) -> np.ndarray:
    """Prices, the heaviest matching on what they assign, merged with the stable matching; polished and completed.

    Where weights are likely to tie, the stable matching is that of ``ties="degree"`` in place of "hash", which is
    heavier there (``order.by_degree``).

    Never lighter, in units, than the stable matching: the merged matching is the heaviest on the edges of both, and an
    exchange only adds weight. The free vertices that are left
    are matched by the stable matching among them, so the result is maximal.
    """
    prices, holder, _ = auction_prices(graph, order, seed, eps, slack, rounds)
    item = np.full(graph.n, -1, np.int32)
    held = np.flatnonzero(holder >= 0)
    item[holder[held]] = held
    mates = heaviest_on_paths(graph, seed, item, holder)
    mates = heaviest_on_paths(graph, seed, mates, greedy(graph, by_degree(order, seed, graph)))
    looking = None
    for turn in range(polish):
        mates, touched = augment(graph, order, seed, mates, looking)
        mates, more = walk(graph, order, seed, turn, mates, prices)
        looking = touched | more
    return greedy(graph, order, mates)
