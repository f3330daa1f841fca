"""Where a GPU's auction and the reference part: the first step that differs, and where.

``python tests/cuda/auction_parts.py`` runs every part of the auction on small graphs and prints a line for each
part that differs; then the seconds of each part on graphs of some size. For one look at a new device.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from corpus import CORPUS, TIES, order_of

import troth
from troth import reference
from troth import reference_auction as ref
from troth.arrays import cupy
from troth.contract import Context
from troth.cuda import auction, suitor
from troth.cuda.augment import complete
from troth.cuda.paths import heaviest_on_paths
from troth.cuda.walks import walk
from troth.graph import Graph
from troth.kernels.launch import DeviceClock
from troth.order import Order, by_degree, on_device, priorities

SIZED = (
    "grid:rows=2000,cols=2000",
    "rmat:scale=18",
    "rmat:scale=20",
    "rmat:scale=22",
    "erdos-renyi:n=4194304,degree=16",
)


def words(order: Order, prices: np.ndarray, holder: np.ndarray) -> list[int]:
    """Prices and holders as the words of a GPU."""
    rank = priorities(order, len(holder)).tolist()
    bits = prices.view(np.uint32).tolist()
    return [bits[v] << 32 | rank[u] if u >= 0 else 0 for v, u in enumerate(holder.tolist())]


def first_difference(graph: Graph, order: Order, seed: int = 0, on: str = "cuda", **options: Any) -> str:
    """The first part that differs from the reference, each being given what the reference has found before; or ""."""
    if not graph.m:
        return ""
    cp, there = cupy(), graph.to(on)
    prices, holder, rounds = ref.auction_prices(graph, order, seed, **options)
    here, order = order, on_device(order, there.device)
    asked = {"eps": 0.02, "slack": 0.02, "rounds": 32, **options}
    state, paid, memory = auction.hold(there, order, seed, *(asked[name] for name in ("eps", "slack", "rounds")))
    found = [("words", state, words(here, prices, holder)), ("prices", paid, prices.tolist())]
    if memory is not None:
        found.append(("rounds", memory.view("control", np.uint32)[-1:], [rounds]))
    item = np.full(graph.n, -1, np.int32)
    held = np.flatnonzero(holder >= 0)
    item[holder[held]] = held
    arcs = auction.arcs(there, order, state)
    found += [("items", arcs[0], item.tolist()), ("holders", arcs[1], holder.tolist())]

    sides = cp.asarray(item), cp.asarray(holder)
    mates = ref.heaviest_on_paths(graph, seed, item, holder)
    found.append(("arcs", heaviest_on_paths(there, seed, *sides, oriented=True), mates.tolist()))
    stable = reference.greedy(graph, by_degree(here, seed, graph))
    found.append(("suitor", suitor.run(there, by_degree(order, seed, there), Context()).mates, stable.tolist()))
    sides = cp.asarray(mates), cp.asarray(stable)
    mates = ref.heaviest_on_paths(graph, seed, mates, stable)
    found.append(("merge", heaviest_on_paths(there, seed, *sides), mates.tolist()))

    paid = cp.asarray(prices)
    starts = {
        "merged": mates,
        "stable": stable,
        "random": reference.luby(graph),
        "none": np.full(graph.n, -1, np.int32),
    }
    for name, start in starts.items():
        for turn in (0, 1):
            mine, marks = cp.asarray(start), cp.full(graph.n, 0, np.uint8)
            walk(there, order, seed, turn, mine, paid, marks)
            wanted, touched = ref.walk(graph, here, seed, turn, start, prices)
            found.append((f"walks from {name}, {turn}", mine, wanted.tolist()))
            found.append((f"touched by walks from {name}, {turn}", marks, [int(v in touched) for v in range(graph.n)]))
        mine, wanted, looking = cp.asarray(start), start, None
        auction._polish(there, order, seed, mine, paid, 3)
        for turn in range(3):
            wanted, touched = ref.augment(graph, here, seed, wanted, looking)
            wanted, more = ref.walk(graph, here, seed, turn, wanted, prices)
            looking = touched | more
        found.append((f"polish from {name}", mine, wanted.tolist()))
        mine = cp.asarray(wanted)
        complete(there, order, mine)
        found.append((f"complete from {name}", mine, reference.greedy(graph, here, wanted).tolist()))
    run = auction.run(there, order, Context(seed=np.uint64(seed)), **options)
    found.append(("run", run.mates, ref.auction(graph, here, seed, **options).tolist()))
    for name, got, wanted in found:
        got = got.get().tolist()
        if got != wanted:
            v = next(v for v, (a, b) in enumerate(zip(got, wanted, strict=True)) if a != b)
            count = sum(a != b for a, b in zip(got, wanted, strict=True))
            return f"{name}: {count} differ, first {v}: {got[v]} for {wanted[v]}"
    return ""


def seconds(graph: Graph) -> dict[str, float]:
    """Seconds of each part on the device, the second time."""
    order, parts = order_of(graph), dict[str, float]()

    def timed(name: str, call: Any) -> Any:
        call()
        clock = DeviceClock()
        result = call()
        parts[name] = clock.stop()
        return result

    stable = timed("suitor", lambda: suitor.run(graph, by_degree(order, 0, graph), Context(measured=False))).mates
    state, paid, _ = timed("prices", lambda: auction.hold(graph, order))
    item, holder = timed("read arcs", lambda: auction.arcs(graph, order, state))
    mate = timed("arcs", lambda: heaviest_on_paths(graph, 0, item, holder, oriented=True))
    mate = timed("merge", lambda: heaviest_on_paths(graph, 0, mate, stable))
    for rounds in (1, 2):
        copy, clock = mate.copy(), DeviceClock()
        auction._polish(graph, order, 0, copy, paid, rounds)
        parts[f"polish {rounds}"] = clock.stop()
    copy, clock = mate.copy(), DeviceClock()
    walk(graph, order, 0, 0, copy, paid, cupy().zeros(graph.n, np.uint8))
    parts["walks"] = clock.stop()
    auction._polish(graph, order, 0, mate, paid, 2)
    clock = DeviceClock()
    complete(graph, order, mate)
    parts["complete"] = clock.stop()
    timed("run", lambda: auction.run(graph, order, Context(measured=False)))
    return parts


def main() -> None:
    for name, make in CORPUS:
        for ties in TIES:
            graph = make()
            if found := first_difference(graph, order_of(graph, ties)):
                print(f"{name}, {ties}: {found}", flush=True)
    for spec in ("rmat:scale=10", "hubs:n=3000,hubs=4,degree=2500", "path:n=9000,weights=unit", "grid:rows=60,cols=60"):
        graph = troth.read(spec)
        if found := first_difference(graph, order_of(graph)):
            print(f"{spec}: {found}", flush=True)
    for spec in sys.argv[1:] or SIZED:
        graph = troth.read(f"{spec},device=cuda")
        line = ", ".join(f"{name} {1e3 * each:.2f}" for name, each in seconds(graph).items())
        rounds = auction.run(graph, order_of(graph), Context()).counts["rounds"]
        print(f"{spec}: ms {line}; {rounds} rounds", flush=True)


if __name__ == "__main__":
    main()
