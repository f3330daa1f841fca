"""A text that is read in parts says what it says when it is read at once, wherever the parts end."""

from __future__ import annotations

import gzip

import numpy as np
import pytest

import troth
from troth.io.mates import read_mates, read_parts, write_mates, write_parts
from troth.io.text import scan_parts

TEXT = b"\xef\xbb\xbf% a comment\n1\n0\n\t-1 \r\n% another\n4\n3"


@pytest.mark.parametrize("size", [1, 2, 3, 7, 100])
@pytest.mark.parametrize("name", ["mates.txt", "mates.txt.gz"])
@pytest.mark.parametrize("end", [b"", b"\n"])
def test_any_size_of_the_parts(tmp_path, name, size, end):
    path = tmp_path / name
    path.write_bytes(gzip.compress(TEXT + end) if name.endswith("gz") else TEXT + end)
    parts = [cells.one_a_line(-1, 4, "uneven", "wrong") for cells in scan_parts(path, size)]
    assert np.concatenate(parts).tolist() == read_mates(path).tolist() == [1, 0, -1, 4, 3]
    assert np.concatenate(list(read_parts(path, 5))).tolist() == [1, 0, -1, 4, 3]
    assert len(parts) > 1 or size == 100


@pytest.mark.parametrize("size", [1, 4, 100])
@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b"1\n% a comment\n0\n7\n-1\n", "line 4: '7' wrong"),
        (b"1\n0\n-1\nx\n", "line 4: 'x' wrong"),
        (b"1\n\n0\n", "line 2: uneven"),
        (b"% a comment\n1\n0 1\n", "line 3: uneven"),
    ],
)
def test_refusals_name_the_line_of_the_file(tmp_path, size, text, reason):
    path = tmp_path / "mates.txt"
    path.write_bytes(text)
    numbers = (cells.one_a_line(-1, 3, "uneven", "wrong") for cells in scan_parts(path, size))
    with pytest.raises(troth.TrothError, match=f"{path}, {reason}"):
        list(numbers)


def test_an_empty_file_has_no_parts(tmp_path):
    path = tmp_path / "mates.txt"
    path.touch()
    assert list(scan_parts(path)) == []


def test_parts_are_written_as_one(tmp_path, monkeypatch):
    monkeypatch.setattr("troth.io.mates.CHUNK", 3)
    mate = np.array([9, -1, 3, 2, 10, 7, -1, 5, -1, 0, 4], np.int32)
    write_mates(mate, tmp_path / "whole.txt")
    write_parts((mate[:4], mate[4:4], mate[4:]), tmp_path / "parts.txt")
    assert (tmp_path / "whole.txt").read_bytes() == (tmp_path / "parts.txt").read_bytes()
    assert read_mates(tmp_path / "parts.txt").tolist() == mate.tolist()
