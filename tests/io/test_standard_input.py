"""Standard input in place of a file: formats that are recognised, formats that are named, and refusals."""

from __future__ import annotations

import gzip
import io
import sys
import tempfile

import pytest

import troth
from troth.cli import main
from troth.errors import TrothError

FORMATS = {".mtx": None, ".graph": "graph", ".npz": None, ".csv": None, ".tsv": None, ".txt": None, ".parquet": None}


@pytest.fixture
def given(monkeypatch, tmp_path):
    """``given(content)``: what comes from standard input; temporary files are made in an empty folder."""
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))

    def give(content: bytes) -> None:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))

    yield give
    assert list((tmp_path / "temporary").iterdir()) == []


@pytest.mark.parametrize("suffix", FORMATS)
@pytest.mark.parametrize("packed", [False, True])
def test_every_format(given, tmp_path, suffix, packed):
    if suffix == ".parquet":
        pytest.importorskip("pyarrow")
    if packed and suffix in (".npz", ".parquet"):
        pytest.skip("only text is gzipped")
    graph = troth.generate("grid", rows=3, cols=4, weights="integers")
    troth.write(graph, tmp_path / f"g{suffix}")
    content = (tmp_path / f"g{suffix}").read_bytes()
    for format in {FORMATS[suffix], suffix[1:]}:
        given(gzip.compress(content) if packed else content)
        again = troth.read("-", format=format)
        assert (again.indices.tolist(), again.weights.tolist()) == (graph.indices.tolist(), graph.weights.tolist())


@pytest.mark.parametrize(
    ("content", "options", "reason"),
    [
        (b"", {}, "^standard input: the file is empty$"),
        (b"0 1 2\n1 2\n", {}, "^standard input, line 2: 2 cells, but the first row has 3$"),
        (b"0 1 nan\n", {}, r"^standard input: edge 0 \(0, 1\) has weight nan"),
        (b"age,income\n1,2\n", {}, "^standard input: its columns 'age', 'income' are not named"),
        (b"u,v,cost\n1,2,3\n", {}, "^standard input: column 'cost' is a cost by its name"),
        (b"%%MatrixMarket matrix\n", {}, "^standard input"),
        (b"0 1\n", {"format": "cvs"}, r"^format='cvs' is not known \(did you mean 'csv'\?\): choose mtx, graph"),
    ],
)
def test_refusals_name_standard_input(given, content, options, reason):
    given(content)
    with pytest.raises(TrothError, match=reason):
        troth.read("-", **options)


def test_a_closed_one(monkeypatch):
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(TrothError, match="standard input: it is closed"):
        troth.read("-")


def test_on_the_command_line(given, capfd, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    given(b"source,target,weight\nann,bob,2\nbob,cy,3\n")
    assert main(["match", "-", "-o", "pairs.csv"]) == 0
    assert (tmp_path / "pairs.csv").read_text() == "source,target,weight\nbob,cy,3\n"
    given(b"source,target,weight\nann,bob,2\nbob,cy,3\n")
    assert main(["verify", "-", "pairs.csv", "--format", "csv"]) == 0
    given(b"3 2\n2\n1 3\n2\n")
    assert main(["info", "-", "--format", "graph", "--json"]) == 0
    assert '"m": 2' in capfd.readouterr().out


def test_a_file_of_another_name(tmp_path):
    (tmp_path / "edges.dat").write_text("0,1\n1,2\n")
    with pytest.raises(TrothError, match=r"unknown extension.*format= \(--format\)"):
        troth.read(tmp_path / "edges.dat")
    assert troth.read(tmp_path / "edges.dat", format="csv").m == 2
    with pytest.raises(TrothError, match="format is that of a file"):
        troth.read("path:n=3", format="csv")
