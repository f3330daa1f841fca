"""Texts of numbers read a block at a time: the same as by the scan of a whole text, which has the meaning."""

from __future__ import annotations

import gzip

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from troth.api.opening import read
from troth.errors import TrothError
from troth.io import plain, read_input, tables
from troth.io.text import REAL, scan
from troth.neighbours.tables import make_edges

NEVER = 2**62


def both_ways(path, monkeypatch, *, block=16, head=48, **options):
    """What a table is by blocks, and as a whole: the edges, or the words of the refusal."""
    found = []
    for large in (0, NEVER):
        with monkeypatch.context() as patch:
            patch.setattr(tables, "LARGE", large)
            patch.setattr(tables, "HEAD", head)
            patch.setattr(plain, "BLOCK", block)
            try:
                edges = read_input(path, **options)
            except TrothError as error:
                found.append(str(error))
                continue
        weight = None if edges.weight is None else (edges.weight.dtype, edges.weight.tobytes())
        ids = None if edges.ids is None else (edges.ids.dtype, edges.ids.tolist())
        found.append((edges.row.tolist(), edges.col.tolist(), weight, edges.n, ids, edges.notes, edges.cost))
    return found


INTEGERS = st.integers(0, 9).map(str) | st.integers(0, 2**65).map(str)
DECIMALS = st.floats(allow_nan=False, allow_infinity=False).map(repr) | st.decimals(-1000, 1000, places=3).map(str)
ODD = st.sampled_from(
    ["007", "00", "-1", "-0", "+7", "1.0", "nan", "x", '"5"', "", "1e5", ".5", "5.", "1e400", "#", "2 3"]
)


@st.composite
def texts(draw):
    sep, end = draw(st.sampled_from([",", "\t", " ", ";", " , ", "  ", " \t"])), draw(st.sampled_from(["\n", "\r\n"]))
    width, odd = draw(st.integers(2, 4)), draw(st.booleans())
    names = ["u", "v", "weight", "day"]
    ids = INTEGERS if not odd else INTEGERS | ODD
    weights = INTEGERS | DECIMALS if not odd else INTEGERS | DECIMALS | ODD
    cells = [ids, ids, weights, weights]
    lines = [sep.join(draw(cells[column]) for column in range(width)) for _ in range(draw(st.integers(0, 8)))]
    if width == 4 or draw(st.booleans()):
        lines.insert(0, sep.join(names[:width]))
    between = st.sampled_from(["", "# note", "% 1 2", "  ", "\t", "1", "1,2,3,4,5", sep, f"1{sep}2{sep}"])
    for _ in range(draw(st.integers(0, 2))):
        lines.insert(draw(st.integers(0, len(lines))), draw(between))
    return (end.join(lines) + draw(st.sampled_from(["", end]))).encode()


@given(text=texts(), block=st.integers(1, 40), head=st.integers(8, 200), base=st.sampled_from([None, 1]))
@settings(max_examples=200, deadline=None)
@example(
    text=b"0 1 5\n1 2 9007199254740993\n2 3 .5\n", block=1, head=8, base=None
)  # whole numbers, then one that is not
@example(text=b"0,1,\n1,2,\n", block=1, head=8, base=None)
@example(text=b"u\tv\tday\n1\t2\t \n", block=1, head=8, base=None)
def test_blocks_and_the_whole_say_the_same(text, block, head, base, tmp_path_factory):
    path = tmp_path_factory.getbasetemp() / "plain.txt"
    path.write_bytes(text)
    with pytest.MonkeyPatch.context() as patch:
        by_blocks, whole = both_ways(path, patch, block=block, head=head, base=base)
    if isinstance(whole, str):  # what is wrong with the columns may be said before the rest is looked at
        assert isinstance(by_blocks, str)
    else:
        assert by_blocks == whole


ROWS = "".join(f"{i} {i * i % 97} {i / 7!r}\n" for i in range(2000))


@pytest.mark.parametrize("wrong", ["3 x 0.5", "3 4", "3 4 0.5 6", "3 4 five", "3.5 4 1", "-3 4 1"])
def test_refusals_name_the_line_all_the_same(wrong, tmp_path, monkeypatch):
    path = tmp_path / "table.txt"
    path.write_text(f"# a comment\n{ROWS}{wrong}\n{ROWS}")
    by_blocks, whole = both_ways(path, monkeypatch, block=2**12)
    assert by_blocks == whole
    assert wrong == "3 x 0.5" or isinstance(whole, str)  # with an x in it, all ids are text


def test_large_files_take_the_short_way(tmp_path, monkeypatch):
    """Else the tests above would compare a thing with itself."""
    path = tmp_path / "table.csv.gz"
    with gzip.open(path, "wt") as file:
        file.write("source,note,target,weight\n")
        file.writelines(f"{i},a b,{i + 1},{i}e-3\n" for i in range(200_000))
    monkeypatch.setattr(tables, "load", lambda path: pytest.fail("the whole text was loaded"))
    monkeypatch.setattr(tables, "LARGE", 2**16)
    graph = read(path, columns=("source", "target", "weight"))
    assert (graph.n, graph.m, graph.notes) == (200_001, 199_999, {"nonpositive": 1})
    edges = read_input(path, columns=("source", "target", "weight"))
    assert edges.row.dtype == edges.col.dtype == np.int32
    assert edges.weight.tolist() == [float(f"{i}e-3") for i in range(200_000)]


def test_wide_ids(tmp_path, monkeypatch):
    path = tmp_path / "table.txt"
    path.write_text(f"{ROWS}5 4000000000 1.5\n{ROWS}")
    by_blocks, whole = both_ways(path, monkeypatch, block=2**12)
    assert by_blocks == whole
    assert max(whole[4][1]) == 4_000_000_000


def test_narrow_ids_stay_narrow():
    ids = np.array([1, 2], np.int32), np.array([2, 4], np.int32)
    edges = make_edges(*ids, None, base=1, where="here")
    assert (edges.row.tolist(), edges.col.tolist(), edges.ids.tolist()) == ([0, 1], [1, 2], [1, 2, 4])
    assert (edges.row.dtype, edges.ids.dtype) == (np.int32, np.int64)


@pytest.mark.parametrize("name", ["MIT8.edgelist.gz", "dolphins_multi_edge.csv", "wiki-Vote.txt.gz"])
def test_shared_edge_lists(name, data, monkeypatch):
    by_blocks, whole = both_ways(data(f"edgelists/{name}"), monkeypatch, block=2**14, head=2**10)
    assert by_blocks == whole


@given(st.integers(1, 10**19 - 1), st.integers(-350, 320))
@settings(max_examples=1000)
@example(2**53 + 1, 0)  # half way between two floats
@example(2**54 + 6, 0)
@example(9007199254740993, 1)
@example(2**63, -342)
@example(22250738585072014, -324)  # the least normal float
@example(17976931348623157, 292)  # the greatest
@example(17976931348623159, 292)
def test_decimals_are_rounded_to_the_nearest_float(mantissa, power):
    text = f"{mantissa}e{power}"
    cells, wanted = scan(text.encode(), "here"), float(text)
    assert cells.numbers(slice(None)).tobytes() == np.float64(wanted).tobytes()


def test_most_decimals_need_not_be_left_to_numpy():
    numbers = np.random.default_rng(0).random(1000) * 10.0 ** np.arange(-300, 300).repeat(2)[:1000]
    cells = scan(" ".join(map(repr, numbers.tolist())).encode(), "here")
    assert np.count_nonzero(cells.kind != REAL) == 0
    assert cells.numbers(slice(None)).tobytes() == numbers.tobytes()
