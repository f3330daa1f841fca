"""Real MPI jobs: the same mates for any number of ranks, any partition and tie rule; and what a failing rank does.

``pytest -k apart`` runs the jobs whose ranks share no memory, as if each were on a machine of its own.
"""

from __future__ import annotations

import json
import os
import pickle
import random
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from corpus import CORPUS, DTYPES, RARE, TIES, USUAL, build, order_of

import troth
from bench.ranks import APART
from troth import reference, reference_auction
from troth.order import make_order, priorities
from troth.ranks.job import launcher

pytest.importorskip("mpi4py")

JOB = Path(__file__).with_name("job.py")
MPIEXEC = launcher()
AUCTIONS = (
    {},
    {"eps": 0.3, "slack": 0, "rounds": 5, "polish": 4},
    {"eps": 1e-6, "rounds": 9, "polish": 0},
    {"rounds": 1, "polish": 1},
)
LIMIT = 240  # seconds; a job that hangs is a failure
WHERE = {"together": {}, "apart": APART}
slow = pytest.mark.slow
pytestmark = pytest.mark.skipif(MPIEXEC is None, reason="there is no mpiexec")


def launch(ranks: int, *command, cwd=None, where: str = "together") -> subprocess.CompletedProcess:
    words = [MPIEXEC, "-n", str(ranks), sys.executable, *map(str, command)]
    before = dict(os.environ)  # without what MPI has added behind Python's back, if it was started in this process
    return subprocess.run(words, capture_output=True, text=True, timeout=LIMIT, cwd=cwd, env=before | WHERE[where])


def run_job(ranks: int, name: str, *words, where: str = "together") -> None:
    done = launch(ranks, JOB, name, *words, where=where)
    assert done.returncode == 0, done.stderr
    assert "to the end" in done.stdout


# ---- graphs and right answers, made once for all ranks of all jobs ----


def random_graph(draw: random.Random, most: int = 14, dtypes=USUAL):
    """A small graph of any of some weight types with few distinct weights, some of them neighbours in the last bit."""
    dtype = draw.choice(dtypes)
    n = draw.randint(0, most)
    kind = np.dtype(dtype)
    if kind.kind == "f":
        pool = [1.0, float(np.nextafter(kind.type(1), kind.type(2))), 2.5, float(np.finfo(kind).max / 8), 1e-30]
    else:
        most_weight = min(int(np.iinfo(kind).max), 2**63 - 1)
        pool = [1, 2, most_weight, most_weight - 1, most_weight // 3]
    pairs = [(u, v) for u in range(n) for v in range(u + 1, n)]
    chosen = draw.sample(pairs, min(len(pairs), draw.randint(0, 3 * n)))
    return build([(u, v, draw.choice(pool)) for u, v in chosen], n, dtype)


def solved(graph, seed: int = 0, solve=None, rules=TIES) -> tuple:
    """The graph, the seed, and for every tie rule the right mates, their weight and number."""
    answers = {}
    for ties in rules:
        mate = solve(graph, ties) if solve else np.array(reference.greedy(graph, order_of(graph, ties, seed)), np.int32)
        m = troth.Matching(graph, mate, "greedy")
        answers[ties] = (mate, m.weight, m.cardinality)
    return graph, seed, answers


@pytest.fixture(scope="session")
def store(tmp_path_factory):
    """``store(name, cases)``: a file of cases for a job."""
    folder = tmp_path_factory.mktemp("cases")

    def write(name: str, cases: list) -> Path:
        path = folder / name
        path.write_bytes(pickle.dumps(cases))
        return path

    return write


def meets_all(request) -> bool:
    """Whether a test meets all weights and tie rules: a slow one. For others engines are not compiled as often."""
    return request.node.get_closest_marker("slow") is not None


def some_graphs(draw: random.Random, count: int, everything: bool, sizes=(14,)) -> list:
    """The corpus and random graphs; all types of weights where ``everything`` is wanted."""
    named = [make() for name, make in CORPUS if everything or name not in RARE]
    return named + [random_graph(draw, draw.choice(sizes), DTYPES if everything else USUAL) for _ in range(count)]


@pytest.fixture
def cases(store, request):
    return store(f"cases {meets_all(request)}", make_cases(meets_all(request)))


@cache
def make_cases(everything: bool) -> list:
    """Graphs with a seed and the right answers; "degree" with weights of eight bytes, or of all."""
    draw, found = random.Random(7), []
    for graph in some_graphs(draw, 40, everything):
        rules = TIES if everything or graph.weights.itemsize == 8 else TIES[:3]
        found.append(solved(graph, draw.choice((0, draw.getrandbits(64))), rules=rules))
    return found


@pytest.fixture
def checked(store, request):
    return store(f"checked {meets_all(request)}", make_checked(meets_all(request)))


@cache
def make_checked(everything: bool) -> list:
    """Graphs, each with a matching and four others, most of them wrong, and what ``verify`` says of them."""
    draw = random.Random(3)
    found = []
    for graph in some_graphs(draw, 25, everything):
        mates = [np.array(reference.greedy(graph, order_of(graph))) for _ in range(5)]
        if graph.n > 1:
            mates[1][:] = -1
            mates[2][draw.randrange(graph.n)] = draw.randrange(-3, graph.n + 2)
            mates[3][draw.randrange(graph.n)] = draw.randrange(graph.n)
            u, v = draw.sample(range(graph.n), 2)
            for x in (u, v):
                if mates[4][x] >= 0:
                    mates[4][mates[4][x]] = -1
            mates[4][u], mates[4][v] = v, u
        mates[2] = mates[2].astype(draw.choice([np.int64, np.uint64]))  # -1 becomes 2^64 - 1, which is nobody
        reports = [troth.verify(graph, mate, promises_dominance=draw.random() < 0.5) for mate in mates]
        found.append((graph, list(zip(mates, reports, strict=True))))
    return found


@pytest.fixture
def auctioned(store, request):
    return store(f"auctioned {meets_all(request)}", make_auctioned(meets_all(request)))


@cache
def make_auctioned(everything: bool) -> list:
    """Graphs, each with a tie rule, a seed and options; the reference's mates and prices."""
    draw, found = random.Random(17), []
    for graph in some_graphs(draw, 60, everything, (14, 40)):
        ties, seed = draw.choice(TIES), draw.choice((0, draw.getrandbits(64)))
        options = draw.choice(AUCTIONS)
        mate = reference_auction.auction(graph, order_of(graph, ties, seed), seed, **options)
        order = make_order("hash", 0)
        prices, holder, _ = reference_auction.auction_prices(graph, order)
        rank = priorities(order, graph.n)[holder] if graph.n else np.empty(0, np.uint64)
        words = np.where(holder >= 0, prices.view(np.uint32).astype(np.uint64) << np.uint64(32) | rank, np.uint64(0))
        found.append((graph, ties, seed, options, mate, words))
    return found


# ---- jobs ----


# More ranks than cores wait for each other at every step, so they meet a part of the cases.
@pytest.mark.parametrize(
    ("ranks", "every", "each", "where"),
    [
        (1, 4, 6, "together"),
        (2, 1, 3, "together"),
        (3, 8, 6, "together"),
        pytest.param(5, 24, 4, "together", marks=slow),
        pytest.param(3, 4, 6, "together", marks=slow),
        pytest.param(5, 12, 4, "together", marks=slow),
        pytest.param(8, 28, 4, "together", marks=slow),
        (2, 24, 3, "apart"),
        pytest.param(2, 1, 3, "apart", marks=slow),
        pytest.param(3, 4, 6, "apart", marks=slow),
        pytest.param(5, 12, 4, "apart", marks=slow),
    ],
)
def test_agreement(ranks, every, each, where, cases):
    run_job(ranks, "agreement", cases, every, each, where=where)


@pytest.mark.parametrize(
    ("ranks", "every", "where"),
    [
        (2, 24, "together"),  # the first compiles, on as few ranks as can be
        (3, 60, "together"),
        pytest.param(1, 27, "together", marks=slow),
        pytest.param(3, 8, "together", marks=slow),
        pytest.param(2, 1, "together", marks=slow),
        pytest.param(4, 3, "together", marks=slow),
        pytest.param(5, 6, "together", marks=slow),
    ],
)
def test_nodes(ranks, every, where, cases):
    run_job(ranks, "several_nodes", cases, every, where=where)


@pytest.mark.parametrize(
    ("ranks", "every", "where"),
    [
        (1, 40, "together"),
        (2, 10, "together"),
        (3, 30, "together"),
        pytest.param(2, 1, "together", marks=slow),
        pytest.param(3, 6, "together", marks=slow),
        pytest.param(5, 24, "together", marks=slow),
        (2, 30, "apart"),
        pytest.param(2, 4, "apart", marks=slow),
        pytest.param(3, 12, "apart", marks=slow),
    ],
)
def test_grains(ranks, every, where, cases):
    run_job(ranks, "grains", cases, every, where=where)


@pytest.mark.parametrize(("ranks", "where"), [(2, "apart"), pytest.param(3, "apart", marks=slow)])
def test_many_words(ranks, where):
    run_job(ranks, "many_words", where=where)


@pytest.mark.parametrize(
    ("ranks", "every", "where"),
    [
        pytest.param(1, 4, "together", marks=slow),
        (2, 3, "together"),
        (3, 6, "together"),
        pytest.param(2, 1, "together", marks=slow),
        pytest.param(3, 3, "together", marks=slow),
        pytest.param(5, 12, "together", marks=slow),
        pytest.param(2, 1, "apart", marks=slow),
    ],
)
def test_auctions(ranks, every, where, auctioned):
    run_job(ranks, "auctions", auctioned, every, where=where)


@slow
@pytest.mark.parametrize("where", WHERE)
def test_large_auctions(where):
    run_job(2, "large_auctions", where=where)


@pytest.mark.parametrize("ranks", [2, pytest.param(3, marks=slow)])
def test_waves(ranks):
    run_job(ranks, "waves")


@pytest.mark.parametrize("ranks", [2, pytest.param(3, marks=slow)])
def test_crowds(ranks):
    run_job(ranks, "crowds")


@pytest.mark.parametrize(
    ("ranks", "where"), [(3, "together"), pytest.param(1, "together", marks=slow), pytest.param(3, "apart", marks=slow)]
)
def test_families_and_folders(ranks, where, tmp_path):
    run_job(ranks, "families", tmp_path, where=where)


@slow
def test_memory_falls_with_the_ranks(tmp_path):
    run_job(4, "memory", tmp_path)


@pytest.mark.parametrize(
    ("ranks", "every", "where"),
    [
        (2, 3, "together"),
        pytest.param(3, 8, "together", marks=slow),
        pytest.param(2, 1, "together", marks=slow),
        pytest.param(2, 1, "apart", marks=slow),
    ],
)
def test_verification(ranks, every, where, checked):
    run_job(ranks, "verification", checked, every, where=where)


def test_real_graphs(data, store):
    names = ("494_bus.mtx.gz", "netscience.mtx.gz", "poisson_100x100.mtx.gz", "bcsstk13.mtx.gz")
    paths = [*(data(f"matrices/{name}") for name in names), data("graphs/lesmis.graph.gz")]
    graphs = [troth.read(path, weights="paper", symmetrize="max") for path in paths]
    right = [solved(graph, 0, lambda g, ties: troth.match(g, device="cpu", ties=ties).mate) for graph in graphs]
    run_job(3, "agreement", store("real", right), 2, 5)


@pytest.mark.parametrize("where", ["together", pytest.param("apart", marks=slow)])
def test_tiny_queues(where, store):
    draw = random.Random(11)
    names = ("complete-scrambled", "hub", "grid-scrambled", "near-ties-float64")
    graphs = [dict(CORPUS)[name]() for name in names] + [random_graph(draw) for _ in range(6)]
    run_job(3, "tiny_queues", store("tiny", [solved(graph, rules=TIES[:3]) for graph in graphs]), where=where)


# A thousand runs: seven engines on each graph.
@pytest.mark.parametrize(
    ("ranks", "graphs", "where"),
    [
        (2, 30, "together"),
        pytest.param(2, 127, "together", marks=slow),
        pytest.param(3, 20, "together", marks=slow),
        (2, 6, "apart"),
        pytest.param(2, 127, "apart", marks=slow),
        pytest.param(3, 20, "apart", marks=slow),
    ],
)
def test_random_delays(ranks, graphs, where, store):
    draw = random.Random(ranks)
    cases = store(f"delays {ranks} {graphs}", [solved(random_graph(draw, 10), rules=TIES[:3]) for _ in range(graphs)])
    run_job(ranks, "delays", cases, where=where)


# ---- the command line ----


def test_the_guide_runs(tmp_path):
    """The commands of docs/cluster.md, as they stand there."""
    guide = (JOB.parents[2] / "docs" / "cluster.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```console\n(.*?)^```", guide, re.MULTILINE | re.DOTALL)
    programs = {"mpiexec": [MPIEXEC], "troth": [sys.executable, "-m", "troth"]}
    for line in "".join(blocks).splitlines():
        words = [part for word in line.removeprefix("$ ").split() for part in programs.get(word, [word])]
        done = subprocess.run(words, capture_output=True, text=True, timeout=LIMIT, cwd=tmp_path, env=dict(os.environ))
        assert done.returncode == 0, (line, done.stderr)
    m = troth.match(troth.read(tmp_path / "graph.csr"), device="cpu")
    assert troth.io.read_mates(tmp_path / "mates.txt").tolist() == m.mate.tolist()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["graph.csr", "mates.txt"]


def test_without_mpiexec(tmp_path):
    words = [sys.executable, "-m", "troth", "match", "path:n=5", "--device", "mpi", "-o", "mates.txt"]
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("PMI", "OMPI", "SLURM"))}
    done = subprocess.run(words, capture_output=True, text=True, timeout=LIMIT, cwd=tmp_path, env=clean)
    assert done.returncode == 0, done.stderr
    assert "one rank, since mpiexec did not start it" in done.stdout
    assert len((tmp_path / "mates.txt").read_text().splitlines()) == 5


def test_ranks_that_would_all_do_the_same(tmp_path):
    done = launch(2, "-m", "troth", "match", "path:n=5", "-o", "mates.txt", cwd=tmp_path)
    assert done.returncode == 2, done.stderr
    assert done.stderr.count("troth: ") == 1
    assert "each would do all of the work and write the same files: say --device mpi" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_progress():
    seen = []
    troth.match(troth.generate("path", n=5), device="mpi", progress=lambda *what: seen.append(what))
    assert seen == [("match", 0, 5), ("match", 5, 5)]


def test_without_mpi4py(monkeypatch):
    monkeypatch.setitem(sys.modules, "mpi4py", None)
    with pytest.raises(troth.TrothError, match=r"pip install .troth\[mpi\]"):
        troth.match(troth.generate("path", n=4), algorithm="sync-poll", device="mpi")


@pytest.mark.parametrize(
    ("how", "said", "way", "where"),
    [
        ("throws", 1, "one-sided", "together"),
        ("refuses", 1, "one-sided", "together"),
        ("no folder", 0, "one-sided", "together"),
        ("killed", None, "one-sided", "together"),
        ("killed", None, "one-sided", "apart"),
        ("refuses", 1, "nodes", "together"),
        ("killed", None, "nodes", "together"),
        pytest.param("throws", 1, "nodes", "together", marks=slow),
        pytest.param("throws", 1, "one-sided", "apart", marks=slow),
        pytest.param("no folder", 0, "one-sided", "apart", marks=slow),
    ],
)
def test_a_rank_that_fails_ends_the_job(how, said, way, where, tmp_path):
    """The rank is named where it can still speak, and nothing is left of the output, nor in memory."""
    folder = tmp_path / "folder"
    folder.mkdir()
    done = launch(3, JOB, "failure", how, way, folder, where=where)
    assert done.returncode != 0
    assert "to the end" not in done.stdout
    assert not list(tmp_path.glob("*/*"))
    if said is not None:
        assert f"troth: rank {said}" in done.stderr
    if how == "killed":
        assert not [name for name in (tmp_path / "files").read_text().splitlines() if Path(name).exists()]


def test_what_one_rank_refuses_all_refuse():
    run_job(2, "one_refusal")


@pytest.mark.parametrize(
    ("what", "said"),
    [
        ("nodes", "troth: rank 1: nodes=2, but nodes=None on rank 0: ask for the same on every rank\n"),
        pytest.param("partition", "rank 1: partition='hash', but partition='block' on rank 0", marks=slow),
        pytest.param("scattered", "rank 1: partition='block', but partition='hash' on rank 0", marks=slow),
        ("certify", "troth: rank 1: certify=True, but certify=False on rank 0: ask for the same on every rank\n"),
        pytest.param("source", "rank 1: source='path:n=500', but source='grid:rows=20,cols=25' on rank 0", marks=slow),
        pytest.param("progress", "rank 1 failed: RuntimeError: no way to say", marks=slow),
    ],
)
def test_ranks_that_ask_for_different_things(what, said):
    done = launch(2, JOB, "disagreement", what)
    assert done.returncode != 0
    assert said in done.stderr


@pytest.mark.parametrize("ranks", [2, pytest.param(5, marks=slow)])
def test_windows_are_given_back(ranks):
    run_job(ranks, "windows")


@pytest.mark.parametrize("name", ["own_communicators", "finalized"])
def test_windows_of_a_communicator_go_with_it(name):
    run_job(2, name)


def test_windows_grow_where_there_is_room_for_one():
    run_job(2, "larger_windows")


INTERRUPTED = """
import signal, sys
from troth.cli import main
class Finder:
    def find_spec(self, name, *_):
        if name == {!r}:
            signal.raise_signal(signal.SIGINT)
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.meta_path.insert(0, Finder())
sys.exit(main(sys.argv[1:]))
"""


def launch_two(first: list, second: list) -> subprocess.CompletedProcess:
    """A job of two processes that are given different words."""
    words = [MPIEXEC, "-n", "1", sys.executable, *first, ":", "-n", "1", sys.executable, *second]
    return subprocess.run(words, capture_output=True, text=True, timeout=60, env=dict(os.environ))


@pytest.mark.parametrize("words", [["--device", "mpi", "--bogus"], ["-a", "sync-poll", "--bogus"]])
def test_a_rank_that_refuses_its_words_ends_the_job(words):
    match = ["-m", "troth", "match", "path:n=9"]
    for first, second, rank in (([], words, "rank 1: "), (words, [], ""), (words, words, "")):
        done = launch_two([*match, *(first or words[:2])], [*match, *(second or words[:2])])
        assert done.returncode == 2
        assert done.stderr.startswith(f"troth: {rank}No such option: --bogus")
        assert (done.stdout, done.stderr.count("\n")) == ("", 1)


@pytest.mark.parametrize("module", ["mpi4py", "typer"])
def test_a_rank_that_is_interrupted_early_ends_the_job(module):
    """Before MPI is there, and before there is a command."""
    match = ["match", "path:n=9", "--device", "mpi"]
    done = launch_two(["-m", "troth", *match], ["-c", INTERRUPTED.format(module), *match])
    assert done.returncode != 0
    assert "troth: interrupted" in done.stderr
    assert "Traceback" not in done.stderr


REFUSALS = [
    (["match", "nowhere.mtx"], "nowhere.mtx: there is no such file"),
    (["match", "nowhere.xyz"], "unknown extension"),
    (["match", "one-way.mtx"], "symmetrize"),
    (["match", "one-way.mtx", "--base", "1"], "base and columns are for tables"),
    (["match", "lengths.csv"], "maximize"),
    (["match", "lengths.csv", "--minimize"], "--minimize, --reward and --gap are for one process"),
    (["match", "path:n=9", "--reward", "3"], "leave them out, or --device mpi"),
    (["match", "path:n=9", "--format", "mtx"], "format is that of a file"),
    (["match", "path:n=9", "--columns", "a,b"], "columns"),
    (["verify", "nowhere.mtx", "wrong.txt", "--weights", "abs"], "there is no such file"),
    (["match", "path:n=9,device=cuda"], "leave device out"),
    (["match", "er:n=5,degree=9"], "choose a degree"),
    (["match", "grid:rows=1e6,cols=1e6"], "too many"),
    (["match", "path"], "needs n"),
    (["match", "nowhere.csr"], "not a folder"),
    (["match", "unsorted.csr"], "row 5 is not clean"),
    (["match", "uneven.csr"], "the two directions of some edge differ"),
    (["match", "twins.csr", "-o", "pairs.csv"], "two vertices have the same id in ids.npy"),
    (["match", "large.csr", "--certify"], "a weight is 2^63 or more; scale the weights or convert them to float64"),
    (["match", "long.csr"], f"weights of type {np.dtype(np.longdouble)} are not accepted: convert to float64"),
    (["match", "half.csr"], "weights of type float16 are not taken: troth convert it first"),
    (["match", "path:n=9", "--partition", "nowhere"], "partition='nowhere' is not a file: choose block,"),
    (["match", "path:n=9", "--partition", "metis"], 'partition="metis" needs a whole graph'),
    (["match", "path:n=9", "--partition", "few.txt"], "8 owners, but the graph has 9 vertices"),
    (["match", "path:n=8", "--partition", "owners.txt"], "owners.txt, line 8: '99' is no owner"),
    (["match", "path:n=8", "--partition", "owners.npy"], "vertex 7 is owned by 99"),
    (["match", "path:n=9", "--bogus"], "No such option"),
    (["match", "path:n=9", "-o", "nowhere/mates.txt"], "there is no folder"),
    (["match", "path:n=9", "-a", "sync-poll", "-O", "capacity=3"], "no option 'capacity'"),
    (["match", "path:n=9", "-a", "async-notify", "-O", "capacity=0"], "from 1 to"),
    (["match", "path:n=9", "-O", "nodes=0"], "from 1 to"),
    (["match", "path:n=9", "-O", "nodes=5"], "nodes=5: give a number up to that of the ranks"),
    (["match", "uneven.csr", "-O", "nodes=5"], "nodes=5: give a number up to that of the ranks"),
    (["match", "path:n=9", "-O", "nodes=1", "-O", "share=no"], "leave out share=no, or nodes"),
    (["match", "nowhere.csr", "--threads", "100000"], "threads=100000: give a whole number from 1 to"),
    (["match", "path:n=9", "-a", "greedy"], "has no engine on device='mpi'"),
    (["verify", "path:n=6", "nowhere.txt"], "nowhere.txt: No such file"),
    (["verify", "path:n=6", "wrong.txt"], "wrong.txt, line 5: '6' is not a mate"),
    (["verify", "path:n=6", "wrong.txt", "--threads", "2"], "--threads is for --device cpu"),
]


COORDINATES = "%%MatrixMarket matrix coordinate"
SOURCES = (  # a file, and how it is read
    ("laplacian.mtx", {"weights": "abs"}),
    ("uneven.mtx", {"weights": "paper", "symmetrize": "max"}),
    ("uneven.mtx", {"weights": "abs", "symmetrize": "sum"}),
    ("pattern.mtx", {}),
    ("pattern.mtx", {"weights": "random", "seed": 7}),
    ("graph.graph.gz", {}),
    ("graph.npz", {}),
    ("graph.csr", {"weights": "unit"}),
    ("graph.parquet", {}),
    ("names.csv", {}),
    ("names.csv", {"columns": ("to", "from")}),
    ("lengths.csv", {"maximize": True}),
    ("edges", {"format": "txt", "base": 1}),
    ("rgg:n=60,degree=5", {}),
    ("delaunay:n=40", {"weights": "unit"}),
    ("path:n=9,weights=increasing", {}),
    ("grid:rows=4,cols=5", {"weights": "random", "seed": 3}),
)


@pytest.fixture
def stored(tmp_path):
    """A folder with graphs in the formats that users have."""
    rng = np.random.default_rng(2)
    rows, cols = np.nonzero(np.triu(rng.random((30, 30)) < 0.2, 1))
    values = rng.integers(1, 9, len(rows))

    def entries(*columns) -> str:
        return "".join(" ".join(map(str, line)) + "\n" for line in zip(*columns, strict=True))

    lower = f"30 30 {len(rows)}\n", (cols + 1, rows + 1)
    head, places = "".join(lower[:1]), lower[1]
    tmp_path.joinpath("laplacian.mtx").write_text(f"{COORDINATES} real symmetric\n{head}" + entries(*places, -values))
    tmp_path.joinpath("pattern.mtx").write_text(f"{COORDINATES} pattern symmetric\n{head}" + entries(*places))
    both = entries(*places, values) + entries(rows + 1, cols + 1, -values - 1)
    tmp_path.joinpath("uneven.mtx").write_text(f"{COORDINATES} real general\n30 30 {2 * len(rows)}\n{both}")
    tmp_path.joinpath("edges").write_text(entries(rows + 1, cols + 1, values))
    names = [f"v{number:02}" for number in rng.permutation(30)]
    lines = [f"{names[u]},{names[v]},{w}\n" for u, v, w in zip(rows, cols, values, strict=True)]
    tmp_path.joinpath("names.csv").write_text("from,to,weight\n" + "".join(lines))
    tmp_path.joinpath("lengths.csv").write_text("from,to,distance\n" + "".join(lines))
    graph = troth.as_graph((rows, cols, values))
    for suffix in ("graph.gz", "npz", "csr", "parquet"):
        troth.write(graph, tmp_path / f"graph.{suffix}")
    return tmp_path


@pytest.mark.parametrize("ranks", [1, 3])
def test_sources(ranks, stored, store):
    pytest.importorskip("pyarrow")
    run_job(ranks, "sources", stored, store("sources", list(SOURCES)))


FILES = (
    ["laplacian.mtx", "--weights", "abs"],
    ["uneven.mtx", "--weights", "paper", "--symmetrize", "max"],
    ["pattern.mtx", "--weights", "random", "--seed", "5"],
    ["graph.csr", "--weights", "unit"],
    ["names.csv"],
    ["lengths.csv", "--maximize"],
    ["edges", "--base", "1", "--format", "txt"],
)


def test_files_on_the_command_line(stored, store, capfd, monkeypatch):
    from troth.cli import main

    monkeypatch.chdir(stored)
    known = []
    for words in FILES:
        assert main(["match", *words, "--device", "cpu", "--json"]) == 0
        known.append((words, json.loads(capfd.readouterr().out)))
    run_job(2, "files", stored, store("files", known))


def test_standard_input_is_that_of_rank_0(tmp_path):
    words = [MPIEXEC, "-n", "2", sys.executable, "-m", "troth", "match", "-", "--device", "mpi", "-o", "pairs.csv"]
    asked = {"capture_output": True, "text": True, "timeout": LIMIT, "cwd": tmp_path, "env": dict(os.environ)}
    done = subprocess.run(words, input="a,b,2\nb,c,3\nc,d,2\n", **asked)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "pairs.csv").read_text().splitlines() == ["source,target,weight", "b,c,3"]


@pytest.fixture
def damaged(tmp_path):
    """A folder with what the refusals need."""
    path = troth.generate("path", n=7)
    indices, weights = path.indices.copy(), path.weights.copy()
    indices[9:11] = indices[9:11][::-1]
    weights[9:11] *= 2
    for name, some in (
        ("unsorted", {"indices": indices}),
        ("uneven", {"weights": weights}),
        ("large", {"weights": np.full(12, 2**63, np.uint64)}),
        ("long", {"weights": np.ones(12, np.longdouble)}),
        ("half", {"weights": np.ones(12, np.float16)}),
        ("twins", {"ids": np.array([3, 5, 7, 5, 8, 9, 1])}),
    ):
        troth.write(path.replaced(**some), tmp_path / f"{name}.csr")
    (tmp_path / "one-way.mtx").write_text(f"{COORDINATES} real general\n2 2 1\n1 2 3\n")
    (tmp_path / "lengths.csv").write_text("source,target,distance\n0,1,3\n1,2,4\n")
    (tmp_path / "owners.txt").write_text("0\n" * 7 + "99\n")
    (tmp_path / "few.txt").write_text("0\n" * 8)
    np.save(tmp_path / "owners.npy", np.array([0] * 7 + [99]))
    (tmp_path / "wrong.txt").write_text("% by hand\n1\n0\n-1\n6\n5\n4\n")
    return tmp_path


@pytest.mark.parametrize(("words", "reason"), REFUSALS, ids=[" ".join(words) for words, _ in REFUSALS])
def test_refusals(words, reason, capfd, monkeypatch, damaged):
    from troth.cli import main

    monkeypatch.chdir(damaged)
    assert main([*words, "--device", "mpi"]) == 2
    said = capfd.readouterr().err
    assert reason in said
    assert said.count("\n") == 1


def test_command_line_on_ranks(damaged, store):
    troth.write(troth.read("rmat:scale=7,edgefactor=6"), damaged / "g.csr")
    run_job(3, "command_line", damaged, store("refused", REFUSALS))
