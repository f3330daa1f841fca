"""MatrixMarket files that are fine, each against the matrix it means."""

from __future__ import annotations

import pytest

from troth.errors import TrothError
from troth.io import matrixmarket, read_input

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
