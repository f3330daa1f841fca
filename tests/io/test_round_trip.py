"""What ``write`` writes, ``read`` reads back: every format, every weight type, every bit."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from corpus import build, graphs, on_corpus
from hypothesis import given

from troth.api.opening import read, write
from troth.errors import TrothError
from troth.io import read_mates, write_mates
from troth.io.csr import open_csr

MATRICES = (".mtx", ".mtx.gz", ".graph", ".graph.gz", ".metis", ".npz", ".csr")
TABLES = (".csv", ".csv.gz", ".tsv", ".txt", ".edgelist", ".edgelist.gz", ".parquet")
TYPED = (".npz", ".csr", ".parquet")  # these store the type; text is read as int64 or float64


def assert_same(got, expected, typed: bool) -> None:
    assert got.indptr.tolist() == expected.indptr.tolist()
    assert got.indices.tolist() == expected.indices.tolist()
    assert got.weights.tolist() == expected.weights.tolist()  # as Python numbers: exact for integers and floats
    if typed and got.m:
        assert got.weights.dtype == expected.weights.dtype


def edges_by_id(graph) -> dict:
    """{ids of the two ends: weight}: what a table says."""
    ids = np.arange(graph.n) if graph.ids is None else graph.ids
    coo = graph.to_scipy().tocoo()
    return {frozenset((ids[u], ids[v])): w for u, v, w in zip(coo.row, coo.col, coo.data.tolist(), strict=True)}


@on_corpus
@pytest.mark.parametrize("suffix", MATRICES)
def test_matrix_formats(graph, suffix, tmp_path):
    path = tmp_path / f"graph{suffix}"
    write(graph, path)
    assert_same(read(path), graph, suffix in TYPED)


@on_corpus
@pytest.mark.parametrize("suffix", TABLES)
def test_tables(graph, suffix, tmp_path):
    path = tmp_path / f"graph{suffix}"
    if graph.m == 0 and suffix in (".txt", ".edgelist", ".edgelist.gz"):
        with pytest.raises(TrothError, match=r"without edges .* write .csv"):
            write(graph, path)
        return
    write(graph, path)
    got = read(path)
    assert edges_by_id(got) == edges_by_id(graph)
    assert got.m == 0 or suffix not in TYPED or got.weights.dtype == graph.weights.dtype


@pytest.mark.parametrize("suffix", [".mtx", ".graph", ".npz", ".csr"])
def test_random_graphs(suffix, tmp_path_factory):
    folder = tmp_path_factory.mktemp("random")

    @given(graphs())
    def check(graph):
        write(graph, folder / f"graph{suffix}")  # replaces the last one
        assert_same(read(folder / f"graph{suffix}"), graph, suffix in TYPED)

    check()


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_random_tables(suffix, tmp_path_factory):
    folder = tmp_path_factory.mktemp("random")

    @given(graphs())
    def check(graph):
        write(graph, folder / f"graph{suffix}")
        assert edges_by_id(read(folder / f"graph{suffix}")) == edges_by_id(graph)

    check()


@pytest.mark.parametrize("weights", [[3, 1, 2], [0.5, 2.0, 1e-9], [[1, 2], [3, 4], [5, 6]]])
@pytest.mark.parametrize("suffix", [".graph", ".csr"])
def test_vertex_weights(weights, suffix, tmp_path):
    graph = replace(build([(0, 2, 5)], 3), vertex_weights=np.array(weights))
    write(graph, tmp_path / f"graph{suffix}")
    assert read(tmp_path / f"graph{suffix}").vertex_weights.tolist() == weights


@pytest.mark.parametrize("suffix", [".csv", ".csv.gz", ".tsv", ".txt", ".parquet", ".csr"])
@pytest.mark.parametrize(
    "ids",
    [
        ["Émile", 'the "big" one', "a, b; c", "#1 100%", "tab\there"],
        ["(0, 1)", "(1, 1)", "(2, 1)", "(3, 1)", "(4, 1)"],
        ["u", "v", "i", "j", "weight"],
        ["01", "1", "2", "3", "4"],
        ['"', "a", ",", "#", " "],
        ["1.5", "nan", "-inf", "-2", "e"],
    ],
)
def test_text_ids(ids, suffix, tmp_path):
    graph = replace(build([(0, 1, 1.5), (1, 2, 2.5), (2, 3, 0.1), (3, 4, 9.0)], dtype=float), ids=np.array(ids))
    write(graph, tmp_path / f"graph{suffix}")
    assert edges_by_id(read(tmp_path / f"graph{suffix}")) == edges_by_id(graph)


NOT_IN_TEXT = ("two\nlines", "\r", "1.5", "nan", "1.0", "+7", "-2")
NOT_IN_TABLES = ("", "a\0b", "a\0", "\ud800", -2)


@pytest.mark.parametrize(
    ("name", "suffix"),
    [(name, ".csv") for name in NOT_IN_TEXT + NOT_IN_TABLES] + [(name, ".parquet") for name in NOT_IN_TABLES],
)
def test_ids_that_would_not_read_back(name, suffix, tmp_path):
    names = np.array([name, "1", "2"], object) if isinstance(name, str) else np.array([name, 1, 2])
    graph = replace(build([(0, 1, 1), (1, 2, 2)]), ids=names)
    with pytest.raises(TrothError, match=f"^id {re.escape(repr(str(name)))} would not read back"):
        write(graph, tmp_path / f"graph{suffix}")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", NOT_IN_TEXT)
def test_parquet_keeps_more_ids_than_text(name, tmp_path):
    graph = replace(build([(0, 1, 1), (1, 2, 2)]), ids=np.array([name, "1", "2"]))
    write(graph, tmp_path / "graph.parquet")
    assert edges_by_id(read(tmp_path / "graph.parquet")) == edges_by_id(graph)


@pytest.mark.parametrize("suffix", [".csr", ".csv", ".parquet"])
def test_ids_of_the_same_text(suffix, tmp_path):
    graph = replace(build([(0, 1, 1), (1, 2, 2)]), ids=np.array([5, "a", "5"], object))
    with pytest.raises(TrothError, match=r"the ids of two vertices are '5' as text, .* rename one"):
        write(graph, tmp_path / f"graph{suffix}")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("suffix", [".graph", ".csv"])
def test_more_than_one_chunk(suffix, tmp_path, monkeypatch):
    from troth.io import metis, tables

    monkeypatch.setattr(metis, "CHUNK", 7)
    monkeypatch.setattr(tables, "CHUNK", 7)
    rng = np.random.default_rng(1)
    pairs = {(int(min(e)), int(max(e))) for e in rng.integers(0, 20, (60, 2)) if e[0] != e[1]}
    graph = build([(u, v, 1 + u * v) for u, v in sorted(pairs)], 20)
    write(graph, tmp_path / f"graph{suffix}")
    assert edges_by_id(read(tmp_path / f"graph{suffix}")) == edges_by_id(graph)


def test_unit_weights_make_a_plain_metis_file(tmp_path):
    write(build([(0, 1, 1.0), (1, 2, 1.0)], dtype=float), tmp_path / "path.graph")
    assert (tmp_path / "path.graph").read_text() == "3 2\n2\n1 3\n2\n"


def test_the_same_graph_gives_the_same_gzip_bytes(tmp_path):
    graph = build([(0, 1, 2), (1, 2, 3)])
    write(graph, tmp_path / "a.mtx.gz")
    write(graph, tmp_path / "b.mtx.gz")
    assert (tmp_path / "a.mtx.gz").read_bytes() == (tmp_path / "b.mtx.gz").read_bytes()


def test_csr_is_mapped_and_says_what_it_holds(tmp_path):
    graph = build([(0, 1, 2.5), (1, 3, 3.5)], 4, np.float32)
    write(graph, tmp_path / "graph.csr")
    found = open_csr(tmp_path / "graph.csr")
    assert isinstance(found.indices.base, np.memmap)
    assert not found.indices.flags.writeable
    assert found.meta == {"format": "troth-csr", "version": 1, "n": 4, "m": 2, "weights": "float32"}
    assert (found.vertex_weights, found.ids) == (None, None)
    assert found.indices.tolist() == graph.indices.tolist()


@pytest.mark.parametrize("mate", [[], [-1], [1, 0], [3, -1, -1, 0, 5, 4]])
def test_mates(mate, tmp_path):
    write_mates(np.array(mate, np.int32), tmp_path / "mates.txt")
    assert (tmp_path / "mates.txt").read_text() == "".join(f"{v}\n" for v in mate)
    assert read_mates(tmp_path / "mates.txt").tolist() == mate
