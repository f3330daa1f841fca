"""MatrixMarket files that are fine, each against the matrix it means."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from troth.api.opening import read
from troth.errors import TrothError
from troth.io import matrixmarket, plain, read_input

FILES = {
    "coordinate real general": ("2 2 2\n1 2 1.5\n2 1 -2e3\n", [[0, 1.5], [-2000, 0]]),
    "coordinate real symmetric": ("2 2 2\n1 1 7\n2 1 1.5\n", [[7, 1.5], [1.5, 0]]),
    "coordinate integer skew-symmetric": ("2 2 1\n2 1 5\n", [[0, -5], [5, 0]]),
    "coordinate integer general": ("2 2 2\n1 2 9223372036854775807\n2 1 1\n", [[0, 2**63 - 1], [1, 0]]),
    "coordinate pattern symmetric": ("2 2 1\n2 1\n", [[0, 1], [1, 0]]),
    "array real general": ("2 2\n0\n1.5\n2.5\n0\n", [[0, 2.5], [1.5, 0]]),
    "array integer symmetric": ("2 2\n1\n2\n3\n", [[1, 2], [2, 3]]),
    "array real skew-symmetric": ("2 2\n2.5\n", [[0, -2.5], [2.5, 0]]),
}


@pytest.mark.parametrize("kind", FILES)
@pytest.mark.parametrize(
    "layout",
    ["plain", "comments", "windows", "byte order mark", "blank lines", "no last line end", "blanks at the end"],
)
def test_kinds_and_layouts(kind, layout, tmp_path):
    body, expected = FILES[kind]
    text = f"%%MatrixMarket matrix {kind}\n{'% note' if layout == 'comments' else '%'}\n{body}"
    if layout == "windows":
        text = text.replace("\n", "\r\n")
    elif layout == "byte order mark":
        text = "\ufeff" + text
    elif layout == "blank lines":
        text = text.replace("\n", "\n\n")
    elif layout == "no last line end":
        text = text.rstrip("\n")
    elif layout == "blanks at the end":  # SciPy alone reads on past these
        text = text.rstrip("\n") + "  "
    (tmp_path / "matrix.mtx").write_bytes(text.encode())
    found = read_input(tmp_path / "matrix.mtx")
    assert found.matrix.toarray().tolist() == expected
    assert (found.pattern, found.base, found.where) == ("pattern" in kind, 1, str(tmp_path / "matrix.mtx"))


def test_banner_in_capitals(tmp_path):
    (tmp_path / "matrix.mtx").write_text("%%MatrixMarket MATRIX Coordinate Real General\n1 1 0\n")
    assert read_input(tmp_path / "matrix.mtx").matrix.shape == (1, 1)


def test_lines_across_blocks(tmp_path, monkeypatch):
    monkeypatch.setattr(matrixmarket, "BLOCK", 5)
    path = tmp_path / "matrix.mtx"
    path.write_text("%%MatrixMarket matrix coordinate real general\n9 9 3\n1 2 1.5\n3 4 2.25\n\n5 6 1e3")
    assert read_input(path).matrix.data.tolist() == [1.5, 2.25, 1000.0]
    path.write_text(path.read_text() + ",5")
    with pytest.raises(TrothError, match="line 6: '5 6 1e3,5'"):
        read_input(path)


# ---- a block at a time ----


@st.composite
def coordinates(draw):
    field = draw(st.sampled_from(["real", "double", "integer", "unsigned-integer", "pattern"]))
    symmetry = draw(st.sampled_from(["general", "symmetric", "skew-symmetric"]))
    n, ids, values = draw(st.integers(1, 6)), st.integers(1, 6).map(str), st.integers(-3, 2**64).map(str)
    if field in ("real", "double"):
        values = values | st.floats(allow_nan=False, allow_infinity=False).map(repr)
    if draw(st.booleans()):
        odd = st.sampled_from(
            ["0", "-1", "7", "007", "+1", "1.5", "1e3", "nan", "x", "", "%", "2 2", "-0", "1e400", "1,5"]
        )
        ids, values = ids | odd, values | odd
    pairs = draw(st.lists(st.tuples(ids, ids, values), max_size=8))
    lines = [" ".join(entry[: 2 if field == "pattern" else 3]) for entry in pairs]
    for _ in range(draw(st.integers(0, 1))):
        lines.insert(draw(st.integers(0, len(lines))), draw(st.sampled_from(["", "  ", "% note", "1", "\t"])))
    count = len(pairs) + draw(st.sampled_from([0, 0, 0, 1, -1]))
    head = f"%%MatrixMarket matrix coordinate {field} {symmetry}\n%\n{n} {n} {max(count, 0)}\n"
    return (head + "\n".join(lines) + draw(st.sampled_from(["", "\n", " \n"]))).encode()


@given(
    text=coordinates(),
    block=st.integers(1, 20),
    weights=st.sampled_from(["keep", "abs", "random", "paper"]),
    symmetrize=st.sampled_from([None, "max"]),
)
@settings(max_examples=200)
@example(
    text=b"%%MatrixMarket matrix coordinate real symmetric\n3 3 3\n3 1 2\n1 1 7\n2 1 .5\n",
    block=1,
    weights="keep",
    symmetrize=None,
)
@example(
    text=b"%%MatrixMarket matrix coordinate real symmetric\n3 3 3\n3 1 2\n3 1 7\n2 1 .5\n",
    block=1,
    weights="keep",
    symmetrize=None,
)
def test_blocks_and_scipy_say_the_same(text, block, weights, symmetrize, tmp_path_factory):
    path, found = tmp_path_factory.getbasetemp() / "plain.mtx", []
    path.write_bytes(text)
    for large in (0, 2**62):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(matrixmarket, "LARGE", large)
            patch.setattr(plain, "BLOCK", block)
            try:
                graph = read(path, weights=weights, symmetrize=symmetrize)
            except TrothError as error:
                found.append(str(error))
            else:
                arrays = (graph.indptr, graph.indices, graph.weights)
                found.append(([(array.dtype, array.tobytes()) for array in arrays], graph.notes))
    assert found[0] == found[1]


def test_large_files_do_without_scipy(tmp_path, monkeypatch):
    path = tmp_path / "matrix.mtx"
    entries = [f"{i + 1} {i} {i / 8}" for i in range(1, 100)]
    path.write_text("\n".join(["%%MatrixMarket matrix coordinate real symmetric", "100 100 99", *entries]))
    monkeypatch.setattr(matrixmarket, "LARGE", 0)
    monkeypatch.setattr(matrixmarket, "_read_by_scipy", lambda path: pytest.fail("SciPy was asked"))
    graph = read(path)
    assert (graph.n, graph.m) == (100, 99)
    assert np.array_equal(
        graph.weights[graph.indices > np.repeat(np.arange(100), np.diff(graph.indptr))] * 8, range(1, 100)
    )
