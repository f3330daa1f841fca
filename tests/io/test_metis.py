"""METIS files that are fine: what ``fmt`` switches on, and every layout."""

from __future__ import annotations

import pytest

from troth.api.opening import read
from troth.io import read_input

TRIANGLE = [[0, 5, 6], [5, 0, 7], [6, 7, 0]]
FILES = {
    "plain": ("3 3\n2 3\n1 3\n1 2\n", None),
    "0": ("3 3 0\n2 3\n1 3\n1 2\n", None),
    "edge weights": ("3 3 1\n2 5 3 6\n1 5 3 7\n1 6 2 7\n", None),
    "edge weights, 001": ("3 3 001\n2 5 3 6\n1 5 3 7\n1 6 2 7\n", None),
    "vertex weights": ("3 3 10\n8 2 3\n9 1 3\n4 1 2\n", [8, 9, 4]),
    "real vertex weights": ("3 3 10 1\n8 2 3\n0.5 1 3\n4 1 2\n", [8, 0.5, 4]),
    "two vertex weights": ("3 3 11 2\n8 1 2 5 3 6\n9 2 1 5 3 7\n4 3 1 6 2 7\n", [[8, 1], [9, 2], [4, 3]]),
    "sizes": ("3 3 100\n99 2 3\n99 1 3\n99 1 2\n", None),
    "everything": ("3 3 111 1\n99 8 2 5 3 6\n99 9 1 5 3 7\n99 4 1 6 2 7\n", [8, 9, 4]),
}


@pytest.mark.parametrize("case", FILES)
@pytest.mark.parametrize("layout", ["as is", "windows", "comments", "no last line end", "empty lines after", "blanks"])
def test_fmt_and_layout(case, layout, tmp_path):
    text, vertex_weights = FILES[case]
    if layout == "windows":
        text = text.replace("\n", "\r\n")
    elif layout == "comments":
        text = "% before\n" + text.replace("\n", "\n% 1 2 3\n  %\n")
    elif layout == "no last line end":
        text = text.rstrip("\n")
    elif layout == "empty lines after":
        text += "\n\n"
    elif layout == "blanks":
        text = text.replace("\n", " \t\n ").replace(" ", "   ")
    (tmp_path / "triangle.graph").write_bytes(text.encode())
    found = read_input(tmp_path / "triangle.graph")
    weighted = " 5 " in FILES[case][0]
    expected = TRIANGLE if weighted else [[int(w > 0) for w in row] for row in TRIANGLE]
    assert found.matrix.toarray().tolist() == expected
    assert found.pattern is not weighted
    assert (found.vertex_weights if vertex_weights is None else found.vertex_weights.tolist()) == vertex_weights


@pytest.mark.parametrize("end", ["", "\n", "\n\n\n"])
def test_isolated_vertices(end, tmp_path):
    (tmp_path / "g.metis").write_text("5 1\n\n3\n2" + end)
    graph = read(tmp_path / "g.metis")
    assert graph.indptr.tolist() == [0, 0, 1, 2, 2, 2]


def test_real_and_integer_weights(tmp_path):
    (tmp_path / "g.graph").write_text("2 1 1\n2 9007199254740993\n1 9007199254740993\n")
    assert read(tmp_path / "g.graph").weights.tolist() == [9007199254740993] * 2
    (tmp_path / "g.graph").write_text("3 2 1\n2 3\n1 3 3 .1\n2 1e-1\n")
    assert read(tmp_path / "g.graph").weights.tolist() == [3.0, 3.0, 0.1, 0.1]
