"""MatrixMarket files that are fine, each against the matrix it means."""

from __future__ import annotations

import pytest

from troth.io import read_input

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
    "layout", ["plain", "comments", "windows", "blank lines", "no last line end", "blanks at the end"]
)
def test_kinds_and_layouts(kind, layout, tmp_path):
    body, expected = FILES[kind]
    text = f"%%MatrixMarket matrix {kind}\n{'% note' if layout == 'comments' else '%'}\n{body}"
    if layout == "windows":
        text = text.replace("\n", "\r\n")
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
