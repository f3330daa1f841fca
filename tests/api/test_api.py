"""``match`` and ``strongest``: what they take, what they refuse and how, and what they report."""

import pkgutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from corpus import TIES, corpus, on_corpus, order_of

import troth
from troth import engines, reference
from troth.engines import ALGORITHMS, TABLE, find_engines, promises_dominance

slides = corpus("slides")  # a-b 4, a-c 5, c-d 7, c-e 9, d-e 10
SLIDES = np.array([0, 0, 2, 2, 3]), np.array([1, 2, 3, 4, 4]), np.array([4, 5, 7, 9, 10])

# The others run on MPI ranks; see tests/mpi.
HOST = [engine.algorithm for engine in TABLE if engine.device == "cpu"]


@pytest.fixture(scope="module")
def grid():
    return troth.generate("grid", rows=120, cols=150, weights="integers", high=9, seed=4)


def refuse(call, pattern: str, *args, **options) -> None:
    with pytest.raises(troth.TrothError, match=pattern) as refusal:
        call(*args, **options)
    assert "\n" not in str(refusal.value)


# ---- refusals ----


@pytest.mark.parametrize(
    ("options", "pattern"),
    [
        ({"algorithm": "hungarian"}, "^algorithm='hungarian' is not known: choose suitor, .*greedy"),
        ({"algorithm": None}, "^algorithm=None is not known"),
        ({"algorithm": "Suitor"}, "^algorithm='Suitor' is not known"),
        (
            {"device": "gpu"},
            r"^device='gpu' is not known \(did you mean 'cuda'\?\): choose auto, cpu, cuda, mpi, mpi\+",
        ),
        ({"device": None}, "^device=None is not known"),
        ({"device": ""}, "^device='' is not known"),
        ({"device": "auto:1"}, "^device='auto:1' is not known"),
        ({"device": "cpu:1"}, "^device='cpu:1' is not known: the CPU is just 'cpu'; use threads="),
        ({"device": "cpu:"}, "^device='cpu:' is not known: the CPU is just 'cpu'"),
        ({"device": "mpi:1"}, "^device='mpi:1' is not known"),
        ({"algorithm": "local-random", "device": "cuda"}, "^local-random has no engine on device='cuda': choose cpu$"),
        ({"algorithm": "local-random", "device": "cuda:1"}, "^local-random has no engine on device='cuda:1': "),
        ({"algorithm": "greedy", "device": "mpi"}, "^greedy has no engine on device='mpi': choose cpu, cuda$"),
        ({"ties": "random"}, "^ties='random' is not a tie rule: choose hash, low, high, degree$"),
        ({"ties": None}, "^ties=None is not a tie rule"),
        (
            {"variant": 2},
            "^suitor: variant=2 is not accepted: give auto or plain or nosync or synclb or syncnolb or hybrid$",
        ),
        ({"columns": ("a", "b")}, r"no option 'columns': give troth.as_graph\(g, columns=...\)$"),
        ({"variants": 2}, "^suitor on cpu has no option 'variants': its options are presort$"),
        (
            {"threads_per_block": 64},
            "^suitor: threads_per_block is an option of some variants: give variant too, of nosync,",
        ),
        (
            {"algorithm": "handshake", "device": "cuda", "packed": True},
            r"^handshake on cuda has no option 'packed' \(handshake on cpu has it\): its",
        ),
        ({"algorithm": "greedy", "presort": True}, r"^greedy .* 'presort' \(suitor, locally-dominant have it\): its"),
        ({"eps": 0.1}, r"^suitor on cpu has no option 'eps' \(auction has it\): its options are presort$"),
        (
            {"presrot": True},
            r"^suitor on cpu has no option 'presrot' \(did you mean 'presort'\?\): its options are pre",
        ),
        ({"algoritm": "greedy"}, r"^suitor on cpu has no option 'algoritm' \(did you mean 'algorithm'\?\)"),
        ({"tie": "low"}, r"^suitor on cpu has no option 'tie' \(did you mean 'ties'\?\)"),
        (
            {"algorithm": "locally_dominant"},
            r"^algorithm='locally_dominant' .* \(did you mean 'locally-dominant'\?\): ch",
        ),
        (
            {"ties": "hsah"},
            r"^ties='hsah' is not a tie rule \(did you mean 'hash'\?\): choose hash, low, high, degree$",
        ),
        ({"weight": "cost"}, r"no option 'weight': give troth.as_graph\(g, weight=...\)$"),
        ({"presort": "maybe"}, "^suitor: presort='maybe' is not accepted: give true or false$"),
        ({"presort": 2}, "^suitor: presort=2 is not accepted"),
        ({"algorithm": "blue-red", "p": 0}, "^blue-red: p=0 is not accepted: give a number between 0 and 1"),
        ({"algorithm": "blue-red", "p": 1.0}, "^blue-red: p=1.0 is not accepted"),
        ({"algorithm": "blue-red", "p": float("nan")}, "^blue-red: p=nan is not accepted"),
        ({"algorithm": "blue-red", "p": 10**400}, "^blue-red: p=10+ is not accepted"),
        ({"algorithm": "blue-red", "p": "half"}, "^blue-red: p='half' is not accepted"),
        (
            {"algorithm": "blue-red", "mode": "blind"},
            "^blue-red: mode='blind' is not accepted: give weighted or random$",
        ),
        ({"algorithm": "blue-red", "mode": np.arange(2)}, r"mode=array\(\[0, 1\]\) .* give weighted or random$"),
        ({"algorithm": "blue-red", "rounds": -1}, "^blue-red: rounds=-1 is not accepted: give a whole number or none$"),
        ({"algorithm": "blue-red", "rounds": 2.0}, "^blue-red: rounds=2.0 is not accepted"),
        ({"algorithm": "blue-red", "rounds": True}, "^blue-red: rounds=True is not accepted"),
        (
            {"algorithm": "blue-red", "rounds": "²"},
            "^blue-red: rounds='²' is not accepted: give a whole number or none$",
        ),
        ({"seed": 1.5}, "^seed=1.5 is not a whole number"),
        ({"seed": None}, "^seed=None is not a whole number"),
        ({"seed": "0"}, "^seed='0' is not a whole number"),
    ],
    ids=str,
)
def test_refusals_of_match(options, pattern):
    refuse(troth.match, pattern, slides, **options)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("threads", [0, -1, 2.5, True, 5000, "2", np.float64(1)], ids=repr)
def test_numbers_of_threads_that_are_refused(threads, algorithm):
    text = r"^threads=.*: give a whole number from 1 to \d+, or None for all cores$"
    for graph in (slides, corpus("empty")):
        refuse(troth.match, text, graph, algorithm=algorithm, threads=threads)


def test_a_device_of_another_library():
    class Device:
        def __str__(self) -> str:
            return "cpu"

    assert troth.match(slides, device=Device()).device == "cpu"
    assert troth.strongest(slides, device=Device()).tolist() == troth.strongest(slides).tolist()
    assert slides.to(Device()) is slides
    assert troth.generate("path", n=3, device=Device()).device == "cpu"
    assert len(troth.hierarchy(slides, device=Device())) == 1


def test_refusals_of_strongest():
    refuse(troth.strongest, "^ties='best' is not a tie rule", slides, ties="best")
    refuse(troth.strongest, "^threads=0:", slides, threads=0)
    refuse(troth.strongest, "^device='tpu' is not known", slides, device="tpu")
    refuse(troth.strongest, "no engine on device='mpi'", slides, device="mpi")
    refuse(troth.strongest, "^seed=None is not a whole number", slides, seed=None)
    refuse(troth.strongest, "directions|missing", sp.csr_array(np.triu(np.ones((3, 3)))))


def test_a_request_that_cannot_be_met_is_refused_before_the_graph_is_read():
    for options in ({"algorithm": "x"}, {"device": "x"}, {"x": 1}, {"presort": "x"}, {"seed": "x"}):
        refuse(troth.match, "x", "no-such-file.mtx", **options)


# ---- options ----


@pytest.mark.parametrize("engine", TABLE, ids=lambda engine: f"{engine.algorithm}-{engine.device}")
def test_the_table_is_sound(engine):
    assert find_engines(engine.algorithm, engine.device) == [engine]
    assert callable(engine.load())
    assert promises_dominance(engine.algorithm) == engine.dominant
    defaults = engine.defaults()
    assert defaults == {name: option.default for name, option in engine.options.items()}
    assert engine.read({name: str(value) for name, value in defaults.items()}) == defaults  # as text


def test_another_table_is_seen_at_once(monkeypatch):
    """A developer may try one row after another in a process, as docs/adding-an-engine.md does."""
    [row] = find_engines("suitor", "cpu")
    for words in ("first", "second"):
        other = replace(row, help=words)
        monkeypatch.setattr(engines, "TABLE", (other,))
        assert find_engines("suitor", "cpu") == [other]


def test_option_values_as_text():
    suitor, blue_red = (find_engines(name)[0] for name in ("suitor", "blue-red"))
    for text, value in [("true", True), ("Yes", True), ("1", True), ("on", True), ("false", False), ("0", False)]:
        assert suitor.read({"presort": text}) == {"presort": value}
    values = blue_red.read({"p": "0.25", "rounds": "7", "mode": "random"})
    assert values == {"p": 0.25, "rounds": 7, "mode": "random"}
    assert blue_red.read({"rounds": np.int64(3)})["rounds"] == 3
    assert blue_red.read({"rounds": "None"})["rounds"] is None


@pytest.mark.parametrize("ties", TIES)
@on_corpus
def test_defaults_give_the_reference(graph, ties):
    m = troth.match(graph, ties=ties, seed=5)
    assert m.graph is graph
    assert (m.algorithm, m.device, m.ties, m.seed, m.certificate) == ("suitor", "cpu", ties, 5, None)
    assert m.mate.dtype == np.int32
    assert m.mate.tolist() == reference.greedy(graph, order_of(graph, ties, 5)).tolist()


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_seeds_are_any_whole_numbers(grid, algorithm):
    mates = [
        troth.match(grid, algorithm=algorithm, seed=seed).mate.tolist()
        for seed in (3, np.int64(3), np.uint8(3), 3 + 2**64, 3 - 2**64)
    ]
    assert mates == [mates[0]] * 5
    assert mates[0] != troth.match(grid, algorithm=algorithm, seed=-3).mate.tolist()
    assert type(troth.match(slides, algorithm=algorithm, seed=np.int64(3)).seed) is int


@pytest.mark.parametrize("algorithm", HOST)
def test_stats_and_progress(grid, algorithm):
    calls = []
    m = troth.match(grid, algorithm=algorithm, progress=lambda *call: calls.append(call))
    assert {"edges_read", "threads", "seconds"} <= set(m.stats)
    assert {"gate", "match"} <= set(m.stats["seconds"])
    assert all(isinstance(seconds, float) and seconds >= 0 for seconds in m.stats["seconds"].values())
    assert calls
    assert all(phase == "match" and 0 <= done <= total for phase, done, total in calls)
    assert [done for _, done, _ in calls] == sorted(done for _, done, _ in calls)


def test_progress_of_equal_weights_and_of_sorted_rows(grid):
    dense = troth.generate("rgg", n=5000, degree=14, weights="unit")
    for graph, options in ((dense, {}), (grid, {"presort": True})):
        calls = []
        troth.match(graph, progress=lambda *call: calls.append(call), **options)  # noqa: B023
        assert calls[-1] == ("match", graph.n, graph.n)


def test_an_error_in_progress_ends_the_run(grid):
    def stop(*_):
        raise RuntimeError("enough")

    for threads in (1, 3):
        with pytest.raises(RuntimeError, match="enough"):
            troth.match(grid, threads=threads, progress=stop)
        assert troth.verify(grid, troth.match(grid, threads=threads))


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_certify(grid, algorithm):
    m = troth.match(grid, algorithm=algorithm, certify=True, threads=2)
    assert m.certificate == troth.match(grid, algorithm=algorithm, certify=True, threads=1).certificate
    assert m.certificate.weight == m.weight <= m.certificate.bound
    assert 0.5 <= m.certificate.ratio <= m.weight / m.certificate.bound
    assert m.stats["seconds"]["certify"] >= 0
    report = troth.verify(grid, m)
    assert report
    assert (report.bound, report.ratio) == (m.certificate.bound, m.certificate.ratio)


# ---- inputs ----


def inputs():
    row, col, weight = SLIDES
    yield "triples", SLIDES, None
    yield "lists", tuple(part.tolist() for part in SLIDES), None
    yield (
        "matrix",
        sp.coo_array((weight, (row, col)), shape=(5, 5)) + sp.coo_array((weight, (col, row)), shape=(5, 5)),
        None,
    )
    names = np.array(list("abcde"))
    try:
        import networkx

        named = networkx.Graph()
        named.add_weighted_edges_from(zip(names[row].tolist(), names[col].tolist(), weight.tolist(), strict=True))
        yield "networkx", named, names
    except ImportError:
        pass
    for package in ("pandas", "polars"):
        try:
            library = __import__(package)
        except ImportError:
            continue
        columns = {"source": names[row], "target": names[col], "weight": weight}
        yield package, library.DataFrame(columns), names


@pytest.mark.parametrize(("obj", "names"), [pytest.param(obj, names, id=kind) for kind, obj, names in inputs()])
def test_inputs_straight_into_match(obj, names):
    m = troth.match(obj)
    assert m.mate.tolist() == [2, -1, 0, 4, 3]
    assert (m.weight, m.graph.n, m.graph.m) == (15, 5, 5)
    pairs = m.edges().tolist()
    assert pairs == ([[0, 2], [3, 4]] if names is None else [["a", "c"], ["d", "e"]])
    assert troth.strongest(obj).tolist() == [2, 0, 4, 4, 3]
    assert troth.verify(obj, m)


def test_a_name_straight_into_match(tmp_path):
    path = tmp_path / "slides.csv"
    path.write_text("\n".join(f"{u},{v},{w}" for u, v, w in zip(*SLIDES, strict=True)))
    assert troth.match(path).weight == troth.match(str(path)).weight == 15
    assert troth.match("path:n=4,weights=increasing").edges().tolist() == [[0, 1], [2, 3]]


# ---- strongest ----


@pytest.mark.parametrize("ties", TIES)
@on_corpus
def test_strongest_is_the_best_of_each_row(graph, ties):
    from troth.order import priorities

    rank = priorities(order_of(graph, ties, 2), graph.n).tolist()
    best = [max(row, key=lambda edge: (edge[1], rank[edge[0]]), default=(-1, 0))[0] for row in reference.rows(graph)]
    for threads in (None, 3):
        assert troth.strongest(graph, ties=ties, seed=2, threads=threads).tolist() == best


# ---- several callers ----


def test_calls_from_several_threads(grid):
    alone = {algorithm: troth.match(grid, algorithm=algorithm, seed=1).mate.tolist() for algorithm in HOST}

    def call(i):
        algorithm = HOST[i % len(HOST)]
        return algorithm, troth.match(grid, algorithm=algorithm, seed=1, threads=1 + i % 3).mate.tolist()

    with ThreadPoolExecutor(6) as pool:
        for algorithm, mate in pool.map(call, range(4 * len(HOST))):
            assert mate == alone[algorithm]


# ---- names ----


@pytest.mark.parametrize(
    "code",
    [
        "import troth.families, troth.io, troth.api, troth.cli, troth.viz\n"
        "assert troth.generate('path', n=3).n == 3\n"
        "assert troth.verify(troth.generate('path', n=3), troth.match('path:n=3'))",
        "from troth.api.checking import certificate\nfrom troth import verify\nassert callable(verify)",
    ],
)
def test_names_stay_functions_when_modules_are_imported(code):
    subprocess.run([sys.executable, "-c", code], check=True)


def test_no_module_has_the_name_of_a_public_function():
    assert not {module.name for module in pkgutil.iter_modules(troth.__path__)} & set(troth.__all__)


def test_public_names():
    assert set(dir(troth)) == {*troth.__all__, "interop", "mpi", "viz"}
    for name in dir(troth):
        assert getattr(troth, name) is not None
    refused = "module 'troth' has no attribute 'matching_of'"
    with pytest.raises(AttributeError, match=refused):
        troth.matching_of  # noqa: B018
