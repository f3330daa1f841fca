"""Runtimes, speedups, variants, tuning, handshake: bounded tasks, and claims that follow from the numbers."""

from __future__ import annotations

from itertools import groupby

import pytest

import troth
from bench import engines, experiments, figures, machine, report, runner, setting
from bench.experiments import handshake, runtimes, speedups, tuning, variants
from bench.setting import Setting, Task
from bench.store import Store

MODULES = (runtimes, variants, tuning, handshake)


def record(graph, engine, seconds, params=None, **result):
    """As ``present`` gets it; the least of the seconds counts."""
    stats = {"rounds": 3, "edges": [5, 1, 0], "edges_read": 10} | result.pop("stats", {})
    result = {"n": 10, "m": 20, "mates": "a1", "stats": stats} | result
    return {"graph": graph, "engine": engine, "params": params or {}, "seconds": [9.0, seconds], "result": result}


class Page(report.Page):
    """A page whose figures are looked at, but not saved."""

    def figure(self, figure, name, caption):
        assert figures.crowded(figure) == []
        figures.pyplot().close(figure)


def claims(module, records, folder, **machine):
    """What the module's page claims: measured and verdict, in the order of the page."""
    page = Page(module.NAME, {"name": "m", **machine}, "full", folder, module.NAME)
    with figures.pyplot().rc_context(figures.STYLE):
        module.present(records, page)
    return [(claim["measured"], claim["verdict"]) for claim in page.claims]


@pytest.fixture
def large_machine(monkeypatch):
    """Sixteen cores and a GPU, as far as planning goes."""
    monkeypatch.setattr(machine, "cores", lambda: 16)
    monkeypatch.setattr(machine, "memory", lambda: 2**37)
    monkeypatch.setattr(machine, "gpu", lambda: {"name": "a GPU", "memory": 2**37})
    monkeypatch.setattr(engines, "missing", lambda name, cores: None)


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.NAME)
def test_tasks_are_bounded_and_by_graph(module, large_machine):
    found = module.tasks(Setting(size="full"))
    assert len({task.key for task in found}) == len(found)
    assert 50 <= len(found) <= 1000
    assert sum(task.cost for task in found) < 480
    graphs = [task.graph for task in found]
    assert len(list(groupby(graphs))) == len(set(graphs))
    assert {engines.read(task.engine).device for task in found} == {"cpu", "cuda"}


def test_graphs_that_are_named_are_taken_whatever_their_size(large_machine):
    for module in MODULES:
        found = module.tasks(Setting(size="full", graphs=["rmat-1g", "road-100k"]))
        assert {task.graph for task in found} == {"rmat-1g", "road-100k"}


def test_contenders_of_the_paper(large_machine):
    found = {task.engine for task in runtimes.tasks(Setting(size="full", graphs=["rmat-1m"]))}
    cpu = {f"{name}@cpu:threads={count}" for name in ("suitor", "locally-dominant") for count in (2, 16)}
    assert found == cpu | {"suitor@cuda", "suitor@cuda:variant=nosync", "locally-dominant@cuda"}
    assert {runtimes.on_threads("suitor", 3)} < set(runtimes.contenders(3))  # as many as there are


def test_speedups_present_what_runtimes_measured(tiny):
    store = Store(tiny.folder)
    names = {task["experiment"] for task in store.tasks.values()}
    assert "runtimes" in names
    assert "speedups" not in names
    pages = [page.experiment for page in tiny.pages]
    assert pages.index("speedups") == pages.index("runtimes") + 1
    with Store(tiny.folder) as store:
        again = Setting(size="tiny", repeats=2)
        assert runner.run(["speedups", "runtimes"], again, store).measured == 0


def test_runtimes_claims(tmp_path):
    """NoSync wins on two graphs of three; Suitor on two threads on one."""
    times = {
        "suitor@cuda": (1, 1, 1),
        "suitor@cuda:variant=nosync": (2, 2, 8),
        "locally-dominant@cuda": (5, 5, 5),
        "suitor@cpu:threads=2": (6, 9, 9),
        "locally-dominant@cpu:threads=2": (7, 8, 8),
    }
    records = [record(f"g{at}", name, s / 1e3) for name, found in times.items() for at, s in enumerate(found)]
    (gpu, gpu_verdict), (cpu, cpu_verdict), *others = claims(runtimes, records, tmp_path)
    # Both read as much; scaling needs 16 threads; all agree; all are of one size.
    assert [verdict for _, verdict in others] == ["not held", "not tested", "held", "not tested"]
    assert "fastest of the four on 2 of 3 graphs" in gpu
    assert "troth's own kernels on 3" in gpu
    assert "faster one on 1 of 3 graphs" in cpu
    assert (gpu_verdict, cpu_verdict) == ("held", "not held")


@pytest.mark.parametrize(("dominant", "verdict"), [((8.0, 4.0, 100), "held"), ((8.0, 1.0, 60), "not held")])
def test_work_and_threads_of_suitor_and_locally_dominant(tmp_path, dominant, verdict):
    """Seconds on 2 and on 16 threads, and entries read; Suitor's are 6, 2 and 80."""
    records = [
        record("g", runtimes.on_threads(name, count), seconds, stats={"edges_read": entries})
        for name, (two, sixteen, entries) in (("suitor", (6.0, 2.0, 80)), ("locally-dominant", dominant))
        for count, seconds in ((2, two), (16, sixteen))
    ]
    found = claims(runtimes, records, tmp_path)
    assert [each[1] for each in found[2:4]] == [verdict] * 2
    assert "is read 2.00 times" in found[2][0]  # 80 of 40 entries
    assert "Suitor 3.00" in found[3][0]


def test_another_matching_would_show(tmp_path):
    records = [record("g", runtimes.on_threads("suitor", count), 1.0, mates=f"{count}") for count in (2, 16)]
    (found,) = [verdict for ours, verdict in claims(runtimes, records, tmp_path) if "on 0 of 1 graphs" in ours]
    assert found == "not held"


@pytest.mark.parametrize(("small", "verdict"), [((1.0, 5.0), "held"), ((5.0, 1.0), "not held")])
def test_smaller_graphs_behave_alike_where_the_order_is_the_same(tmp_path, small, verdict):
    names = "suitor@cpu:threads=2", "locally-dominant@cpu:threads=2"
    sizes = {"g.mtx": (200_000, small), "h": (2_000_000, (10.0, 20.0)), "tiny": (50, (9.0, 1.0))}
    records = [record(graph, name, s, m=m) for graph, (m, both) in sizes.items() for name, s in
               zip(names, both, strict=True)]  # fmt: skip
    ours, found = claims(runtimes, records, tmp_path)[-1]
    assert found == verdict
    assert "is the fastest on 1 of 1 graphs" in ours


@pytest.mark.parametrize(("passes", "verdict"), [(11, "held"), (12, "not held")])
def test_scan_passes_are_logarithmic(tmp_path, passes, verdict):
    scans = [
        record(f"g{longest}", handshake.PACKED, 0.0, handshake.SCAN, longest=longest, passes=done)
        for longest, done in ((1, 1), (5, 4), (1024, passes))
    ]
    assert [found for _, found in claims(handshake, scans, tmp_path)] == [verdict]


def test_scan_of_a_star_takes_what_the_formula_says():
    star = troth.generate("hubs", n=17, hubs=1, degree=16)
    found = handshake.scan_once(star, Setting(size="tiny", threads=1))
    assert found["longest"] >= 16
    assert 1 < found["passes"] <= 1 + (found["longest"] - 1).bit_length()


def test_runtimes_takes_all_runs_however_slow(monkeypatch):
    monkeypatch.setattr(setting, "PATIENCE", {"tiny": 0.0})
    found = runtimes.measure(Task("rmat-tiny", "suitor@cpu:threads=1"), Setting(size="tiny", repeats=4))
    assert len(found["seconds"]) == 4


def test_speedups_counts_beside_the_papers(tmp_path):
    ratios = (0.5, 5.0, 50.0, 500.0)
    records = [record(f"g{at}", runtimes.PAPER, 1e-3) for at in range(4)]
    records += [record(f"g{at}", runtimes.GPU_LD, 1e-3 * ratio) for at, ratio in enumerate(ratios)]
    records += [record(f"g{at}", runtimes.on_threads("suitor", 2), 1e-3 * at) for at in (19, 20, 21)]
    records += [record("g19", runtimes.PAPER, 1e-3), record("g21", runtimes.PAPER, 1e-3)]
    found = claims(speedups, records, tmp_path)
    # A quarter of the graphs in each range, where the paper has 43, 37 and 6 per cent.
    assert found[:3] == [
        ("GPU-Suitor (NoSync) on 1 of 4", "not held"),
        ("GPU-Suitor (NoSync) on 1 of 4", "not held"),
        ("GPU-Suitor (NoSync) on 1 of 4", "exceeded"),
    ]
    assert "faster than GPU-LD on 3 of 4, CPU-Suitor on 2 threads on 2 of 2" in found[3][0]
    # The means are 16 and 20; there is no OMP-LD.
    assert [verdict for _, verdict in found[3:6]] == ["held", "not held", "not tested"]
    assert found[6] == (
        "GPU-Suitor (NoSync): 21 times; OMP-Suitor has locks, ours compares and swaps",
        "held",
    )  # g20 was not measured by both
    assert [verdict for _, verdict in found[7:]] == ["not tested"] * 3


def test_speedups_over_locally_dominant_are_compared_with_those_over_suitor(tmp_path):
    times = {runtimes.PAPER: 1.0, runtimes.GPU_LD: 50.0, runtimes.on_threads("suitor", 2): 10.0}
    for dominant, verdict in ((20.0, "held"), (11.0, "not held")):
        both = times | {runtimes.on_threads("locally-dominant", 2): dominant}
        found = claims(speedups, [record("g", name, s / 1e3) for name, s in both.items()], tmp_path)
        assert [each[1] for each in found[4:6]] == ["held", verdict]  # the largest gain is over GPU-LD


def test_only_graphs_of_the_papers_size_count_where_there_are_some():
    small, large = record("small", "x", 1.0, m=10**5), record("large", "x", 1.0, m=10**6)
    assert runtimes.in_range([small, large]) == [large]
    assert runtimes.in_range([small]) == [small]


def test_variants_claims(tmp_path):
    """NoSync is the best on nine of ten large graphs, and three times as slow as SyncLB on the last."""
    records = []
    for at in range(10):
        slow = at == 9
        times = (6.0 if slow else 1.0, 2.0, 2.2, 1.9 if not slow else 2.1)
        records += [record(f"g{at}", name, s / 1e3, m=10**6) for name, s in zip(variants.FOUR, times, strict=True)]
    records[0]["result"]["stats"]["rounds"] = 120
    records += [record("small", name, at) for at, name in enumerate(reversed(variants.FOUR), 1)]  # does not count
    records += [record("g0", variants.DOMINANT, 1e-3, stats={"edges_read": 90})]
    records += [record("g0", variants.SORTED[variants.DOMINANT], 1e-3, stats={"edges_read": 40})]
    found = claims(variants, records, tmp_path)
    assert found[0] == ("on 9 of 10 graphs", "held")
    assert found[1] == ("at most 3 times (g9)", "held")
    assert [verdict for _, verdict in found[2:6]] == ["held"] * 4
    assert "SyncLB takes 1.67 times as long as NoSync, and 0.91 times as long as SyncNoLB" in found[3][0]
    assert "to 120 (g0) iterations" in found[5][0]
    assert "sorted lists reads at most 0.80 entries" in found[6][0]  # of 10 vertices and 40 entries
    assert [verdict for _, verdict in found[6:]] == ["held", "not tested"]  # of Suitor there are no such records


@pytest.mark.parametrize(("read", "verdict"), [(60, "held"), (150, "not held")])
def test_sorted_lists_of_suitor_are_read_once(tmp_path, read, verdict):
    """Of 10 vertices and 40 entries; on a machine with a GPU the row says that the GPU's are not measured."""
    records = [record("g", variants.SUITOR, 1e-3, stats={"edges_read": 99})]
    records += [record("g", variants.SORTED[variants.SUITOR], 1e-3, stats={"edges_read": read})]
    ours, found = claims(variants, records, tmp_path)[-1]
    assert found == verdict
    assert "on CPU threads" in ours
    assert "not measured yet" not in ours
    ours, _ = claims(variants, records, tmp_path, gpu={"name": "a GPU"})[-1]
    assert "on the GPU sorted lists are not measured yet" in ours


def test_the_sort_of_the_lists_counts_on_a_gpu(monkeypatch):
    measured = {"seconds": [2.0, 3.0], "phases": {"sort": 0.5}, "mates": "", "stats": {}}
    monkeypatch.setattr(Setting, "load", lambda *_: troth.generate("path", n=4))
    monkeypatch.setattr(Setting, "match", lambda *_, **__: dict(measured))
    for engine, seconds in ((variants.GPU_SORTED[variants.AUTO], [2.5, 3.5]), (variants.AUTO, [2.0, 3.0])):
        assert variants.measure(Task("g", engine), Setting(size="tiny"))["seconds"] == seconds


def test_variants_claims_that_do_not_hold(tmp_path):
    """NoSync is never three times as slow, and no warp needs tens of iterations."""
    records = [record("g", name, 1e-3, stats={"rounds": 10}) for name in variants.FOUR]
    found = claims(variants, records, tmp_path)
    assert found[1][1] == found[5][1] == "not held"
    assert "barrier" in found[4][0]


def tuned(seconds):
    """Records of all combinations on two graphs, by a function of threads, vertices and graph."""
    return [
        record(graph, tuning.GPU, 1e-3 * seconds(*each, graph), dict(zip(tuning.PARAMS, each, strict=True)))
        for each in tuning.COMBINATIONS
        for graph in ("a", "b")
    ]


def test_tuning_claims(tmp_path):
    def seconds(block, warp, graph):
        return (warp / 8 if warp > 8 else 8 / warp) * (block / 128) ** 0.1 * (1 if graph == "a" else 2)

    found = claims(tuning, tuned(seconds), tmp_path)
    assert [verdict for _, verdict in found] == ["held"] * 5
    assert found[1][0] == "the best number is 8; 8 take 1.00 times as long in the mean"
    assert found[2][0] == "the worst number is 256, with 256 threads: 34 times in the mean"
    assert found[3][0].startswith("up to 34 times")
    assert found[4][0] == "times of 8 vertices, in the mean: 4 2.00, 2 4.00, 1 8.00"


def test_tuning_claims_that_do_not_hold(tmp_path):
    found = claims(tuning, tuned(lambda block, warp, graph: block / warp**0.1), tmp_path)
    assert [verdict for _, verdict in found] == ["not held"] * 4 + ["held"]


def test_tuning_leaves_out_graphs_that_are_not_complete(tmp_path):
    records = tuned(lambda block, warp, graph: warp)
    found = claims(tuning, [each for each in records if each is not records[-1]], tmp_path)
    ours, verdict = found[1]
    assert ours.startswith("the best number is 1; 8 take 8.00 times as long in the mean; ")
    assert verdict == "not held"


def test_handshake_claims(tmp_path):
    phases = dict.fromkeys(handshake.KERNELS, 1e-3) | {"kernels": 8e-3} | dict.fromkeys(handshake.PHASES, 1e-3)
    records = [record("g", handshake.GPU, 4e-3, phases=phases)]
    records += [
        record("g", handshake.GPU, s, {"gpu_threads": count}, phases=phases) for count, s in ((32, 8e-3), (64, 2e-3))
    ]
    records += [record("g", f"{handshake.CPU}:threads={count}", 8e-3 / count, phases=phases) for count in (1, 2)]
    (_, scan), *found = claims(handshake, records, tmp_path)
    assert scan == "not tested"
    assert found == [
        ("from 3 to 3 rounds, and each leaves fewer edges than the one before", "held"),
        ("one matching on 1 of 1 graphs, whatever the number of CPU and GPU threads", "held"),
        (
            "with a thread for each item, up to two million, the time is 2.00 times that of the best number, which is "
            "64",
            "held",
        ),
        (
            "in the geometric mean the six kernels are 1 times as fast as the best number of CPU threads, from 1 to 1 "
            "times; the threads' time includes counting, after each round, how many edges are left",
            "not held",
        ),
    ]


def test_handshake_rounds_are_those_of_the_engine(tiny):
    """Whatever the threads: the same rounds, edges and mates."""
    found = {}
    for task in Store(tiny.folder).tasks.values():
        if task["experiment"] == "handshake" and task["params"] != handshake.SCAN:
            result = task["result"]
            assert result["stats"]["edges"][-1] == 0
            assert len(result["stats"]["edges"]) == result["stats"]["rounds"]
            found.setdefault(task["graph"], []).append((result["stats"]["edges"], result["mates"]))
    assert len(found) > 1
    assert all(each == seen[0] for seen in found.values() for each in seen)


@pytest.mark.gpu
def test_our_questions_on_a_gpu(tmp_path, graphs):
    names = [name for name in experiments.names() if name.startswith(("gpu-", "coarsen-"))]
    with Store(tmp_path) as store:
        outcome = runner.run(names, Setting(size="tiny", repeats=1, engines=["cuda"], cache=graphs), store)
        pages = report.write(store, tmp_path)
    assert (outcome.failed, outcome.refused, outcome.left) == (0, 0, 0)
    assert {"gpu-goals", "gpu-size", "coarsen-goals", "coarsen-catalogue"} <= {page.experiment for page in pages}
    assert [page.fault for page in pages if page.fault] == []
    rows = experiments.load("gpu-engines").rows(
        [task for task in store.tasks.values() if "engines" in task["experiment"]]
    )
    assert all(row["one matching"] for row in rows)


@pytest.mark.gpu
def test_tiny_run_on_a_gpu(tmp_path, graphs):
    """Every contender runs, agrees, and is drawn."""
    setting = Setting(size="tiny", repeats=1, graphs=["rmat", "road"], engines=["cuda"], cache=graphs)
    names = ["runtimes", "speedups", "variants", "tuning", "handshake"]
    with Store(tmp_path) as store:
        outcome = runner.run(names, setting, store)
        pages = report.write(store, tmp_path)
    assert (outcome.failed, outcome.left, setting.left_out) == (0, 0, {})
    assert [(page.experiment, page.fault, page.crowded) for page in pages] == [(name, None, []) for name in names]
    mates = {}
    for task in store.tasks.values():
        mates.setdefault((task["graph"], task["experiment"] == "handshake"), set()).add(task["result"]["mates"])
    assert len(mates) == 4  # handshaking breaks ties in its own way
    assert all(len(found) == 1 for found in mates.values())
    verdicts = {claim["verdict"] for page in pages for claim in page.claims if page.experiment == "tuning"}
    assert verdicts <= {"held", "not held"}
