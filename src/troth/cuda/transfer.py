"""Graphs and results between host and device: a result lives where the graph does, wherever the engine ran."""

from __future__ import annotations

from dataclasses import replace
from time import perf_counter
from typing import Any

import numpy as np

from troth.cuda._device import check_room, cupy, device_number, is_on_device, to_host, using
from troth.engines import Engine
from troth.graph import Graph
from troth.order import Order, make_order


def move(graph: Graph, device: str) -> Graph:
    """A copy of the graph on "cpu", "cuda" or "cuda:1"."""
    if device == "cpu":
        return _with_arrays(graph, to_host)
    number = device_number(device)
    arrays = graph.indptr, graph.indices, graph.weights, graph.vertex_weights
    check_room(number, sum(array.nbytes for array in arrays if array is not None), "the graph")
    with using(number):
        return _with_arrays(graph, cupy().asarray)


def _with_arrays(graph: Graph, convert: Any) -> Graph:
    # The users' names stay on the host: they may be text.
    vertex_weights = None if graph.vertex_weights is None else convert(graph.vertex_weights)
    arrays = {name: convert(getattr(graph, name)) for name in ("indptr", "indices", "weights")}
    return replace(graph, **arrays, vertex_weights=vertex_weights)


def to_device(array: np.ndarray, device: str) -> Any:
    """An array of the host on "cuda:1"."""
    with using(device_number(device)):
        return cupy().asarray(array)


def _order(graph: Graph, ties: str, seed: int) -> Order:
    """The order; only the prefixes of 64-bit weights depend on their range, which costs a pass to find."""
    return make_order(ties, seed, graph.bits_range() if graph.weights.dtype.itemsize == 8 else (1, 1))


def _placed(graph: Graph, device: str) -> tuple[Graph, int, float]:
    """The graph on the device that is meant, the device's number, and the seconds that the copy took."""
    home = None if graph.device == "cpu" else device_number(graph.device)
    number = home if device == "auto" and home is not None else device_number(device.replace("auto", "cuda"), home)
    start = perf_counter()
    there = graph.to(f"cuda:{number}")
    if there is not graph:
        with using(number):
            cupy().cuda.get_current_stream().synchronize()
    return there, number, perf_counter() - start


def _back(array: Any, graph: Graph) -> Any:
    """The result where the graph lives."""
    if graph.device == "cpu":
        return array.get()
    return array if f"cuda:{array.device.id}" == graph.device else to_device(array, graph.device)


def run_there(engine: Engine, device: str, graph: Graph, ties: str, seed: int, words: dict) -> tuple[Any, dict]:
    """Run an engine on a GPU for a graph that may live elsewhere; ``stats`` separates copying from computing.

    ``seconds["kernels"]`` is the time on the device, from the call of the engine, or from the event that it returns as
    ``stats["start"]``, to the end of its last kernel. Counts that an engine leaves on the device are read after that.
    """
    cp = cupy()
    there, number, copy_in = _placed(graph, device)
    with using(number):
        order, run = _order(there, ties, seed), engine.load()
        clock, events = [perf_counter()], (cp.cuda.Event(), cp.cuda.Event())
        events[0].record()
        mate, stats = run(there, order, **words)
        events[1].record()
        events[1].synchronize()
        clock.append(perf_counter())
        mate = _back(mate, graph)
    seconds = {"copy": copy_in + perf_counter() - clock[1], "match": clock[1] - clock[0]}
    seconds["kernels"] = cp.cuda.get_elapsed_time(stats.pop("start", events[0]), events[1]) / 1000
    stats = {name: value.item() if is_on_device(value) else value for name, value in stats.items()}
    return mate, {**stats, "device": f"cuda:{number}", "seconds": {**seconds, **stats.get("seconds", {})}}


def strongest_there(device: str, graph: Graph, ties: str, seed: int, gpu_threads: int | None) -> Any:
    """The strongest neighbours, found on a GPU, for a graph that may live elsewhere."""
    from troth.cuda.handshake import strongest

    there, number, _ = _placed(graph, device)
    with using(number):
        return _back(strongest(there, _order(there, ties, seed), gpu_threads), graph)
