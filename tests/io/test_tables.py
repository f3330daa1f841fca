"""Text tables: separators, headers, quotes, columns and ids."""

from __future__ import annotations

import numpy as np
import pytest

from troth.api.opening import read
from troth.errors import TrothError
from troth.io import read_input


def table(tmp_path, content: str | bytes, name: str = "table.csv", **options):
    path = tmp_path / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return read_input(path, **options)


def triples(edges) -> list[tuple]:
    ids = list(range(edges.n)) if edges.ids is None else edges.ids.tolist()
    weight = [None] * len(edges.row) if edges.weight is None else edges.weight.tolist()
    return [(ids[u], ids[v], w) for u, v, w in zip(edges.row, edges.col, weight, strict=True)]


@pytest.mark.parametrize("sep", [",", "\t", " ", ";", ", ", "  ", " , ", " \t"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize(
    "header", ["", "source{}target{}weight", "U{}V{}edge_weight", "# a{}comment{}", "% a{}comment{}"]
)
@pytest.mark.parametrize("last", ["", "\n", "\n\n"])
def test_every_layout_says_the_same(sep, end, header, last, tmp_path):
    rows = [header.format(sep, sep)] if header else []
    rows += [f"0{sep}1{sep}2.5", "", f"1{sep}2{sep}3", f"{sep.strip() and ''}2{sep}0{sep}1e2"]
    edges = table(tmp_path, end.join(rows) + last.replace("\n", end))
    assert triples(edges) == [(0, 1, 2.5), (1, 2, 3.0), (2, 0, 100.0)]
    assert edges.ids is None


def test_byte_order_mark(tmp_path):
    assert triples(table(tmp_path, b"\xef\xbb\xbf0,1\n1,2\n")) == [(0, 1, None), (1, 2, None)]


INTEGERS = ("1", "-7", "+7", "007", "9223372036854775807", "-9223372036854775808")
DECIMALS = (
    *("1.0", "-0.0", ".5", "5.", "1e3", "1E-3", "0.1", "8.5e-23", "1.000000000000000000e+00"),
    *("9007199254740993.0", "123456789012345678901234.5", "0." + "0" * 40 + "7", "1" + "0" * 400 + "e-400"),
    *("5e-324", "2.2250738585072011e-308", "1.7976931348623157e308", "1e400", "1e-400", "1e99999999999999999999"),
    *("nan", "-Infinity", "INF"),
)


@pytest.mark.parametrize("text", INTEGERS + DECIMALS)
def test_numbers(text, tmp_path):
    weight = table(tmp_path, f"0 1 {text}\n").weight
    expected = np.array([int(text) if text in INTEGERS else float(text)])
    assert (weight.dtype, weight.tobytes()) == (expected.dtype, expected.tobytes())


def test_one_decimal_makes_the_column_float(tmp_path):
    weight = table(tmp_path, "0 1 3\n1 2 9007199254740993\n2 3 0.5\n").weight
    assert weight.tolist() == [3.0, 9007199254740992.0, 0.5]


@pytest.mark.parametrize("text", ["1_000", "0x10", "1e", "e5", "1.2.3", "--1", "1e5.0", "infinit", "1,5"])
def test_not_numbers(text, tmp_path):
    with pytest.raises(TrothError, match=r"line 2: .* is not a number"):
        table(tmp_path, f"a\tb\t1\nb\tc\t{text}\n")


@pytest.mark.parametrize(
    ("header", "options", "expected"),
    [
        ("weight,source,target", {}, (1, 2, 0)),
        ("SRC,time,DST,Weight", {}, (0, 2, 3)),
        ("from_node,a,b,to_node", {"columns": ("from_node", "to_node")}, (0, 3, None)),
        ("a,b,c,d", {"columns": ("d", "a", "c")}, (3, 0, 2)),
        ("u,v,strength", {}, (0, 1, 2)),
        ("source,target,2020", {"weight": "2020"}, (0, 1, 2)),
        ("source,target,2020,weight", {}, (0, 1, 3)),  # a number, but the ends stand over numbers
        ("day,weight,From Node,To-Node", {}, (2, 3, 1)),
        ("day,weight,u,v", {"weight": "day"}, (2, 3, 0)),
        ("day,weight,a,b", {"columns": ("a", "b"), "weight": "day"}, (2, 3, 0)),
        ("source,target,2020,2021", {"columns": ("source", "target", "2021")}, (0, 1, 3)),
        ("source,target,time,kind", {"columns": ("source", "target", "time")}, (0, 1, 2)),
    ],
)
def test_columns_by_name(header, options, expected, tmp_path):
    count = header.count(",") + 1
    rows = [[1 + i + j for i in range(count)] for j in range(3)]
    edges = table(tmp_path, "\n".join([header, *(",".join(map(str, row)) for row in rows)]), **options)
    u, v, w = expected
    assert triples(edges) == [(row[u], row[v], None if w is None else row[w]) for row in rows]


@pytest.mark.parametrize("base", [None, 0])
def test_ids_without_gaps_are_the_vertices(base, tmp_path):
    edges = table(tmp_path, "0 1\n1 2\n", base=base)
    assert (edges.row.tolist(), edges.col.tolist(), edges.n, edges.ids) == ([0, 1], [1, 2], 3, None)


def test_ids_from_1_on_are_kept(tmp_path):
    edges = table(tmp_path, "1 2\n2 3\n", base=1)
    assert (edges.row.tolist(), edges.col.tolist(), edges.ids.tolist()) == ([0, 1], [1, 2], [1, 2, 3])


@pytest.mark.parametrize(
    ("content", "base", "ids"),
    [
        ("1 2\n2 3\n", None, [1, 2, 3]),
        ("0 2\n2 3\n3 0\n", None, [0, 2, 3]),
        ("2 3\n3 5\n5 2\n", 1, [2, 3, 5]),
        ("9000000000000000000 5\n", None, [5, 9000000000000000000]),
        ("1.0 2.0\n2.0 7.000\n", None, [1, 2, 7]),
        ("b a\nc b\n", None, ["a", "b", "c"]),
        ("2 a\n10 2\n", None, ["10", "2", "a"]),
        ("007 7\nx 7\n", None, ["007", "7", "x"]),
        ("01 1\n1 2\n", None, ["01", "1", "2"]),
        ("99999999999999999999 1\n", None, ["1", "99999999999999999999"]),
    ],
)
def test_other_ids_are_numbered_in_order(content, base, ids, tmp_path):
    edges = table(tmp_path, content, base=base)
    assert edges.notes == ({"padded": 1} if content.startswith("01") else {})  # zeros alone made text of numbers
    assert edges.ids.tolist() == ids
    assert edges.n == len(ids)
    number = {str(name): name for name in ids}
    names = [tuple(number[name.partition(".")[0]] for name in row.split()) for row in content.splitlines()]
    assert [(u, v) for u, v, _ in triples(edges)] == names


@pytest.mark.parametrize(
    ("content", "names", "notes"),
    [
        ("ann,bob\nbob,cy\n", ["ann", "bob", "cy"], {}),  # no header: nothing says that there is one
        ("From,To,score\nann,bob,3\nbob,cy,4\n", ["ann", "bob", "cy"], {}),  # text over a number
        ("source,target\nann,bob\n", ["ann", "bob"], {"header": 1}),  # well-known names
        ("ann,bob,3\nbob,cy,4\n", ["ann", "bob", "cy"], {}),
        ("from to 5\nto x 1\n", ["from", "to", "x"], {"no header": 1}),  # a number is no name of a column
        ("source,target,2020\n", ["source", "target"], {"no header": 1}),
        ("i j\nj k\n", ["j", "k"], {"header": 1}),
    ],
)
def test_header_or_not(content, names, notes, tmp_path):
    edges = table(tmp_path, content)
    assert (edges.ids.tolist(), edges.notes) == (names, notes)


def test_a_padded_weight_is_a_number(tmp_path):
    assert triples(table(tmp_path, "0 1 007\n1 2 8\n")) == [(0, 1, 7), (1, 2, 8)]


def test_quotes(tmp_path):
    content = '"source","target","weight"\n"Smith, J.","O""Neil","2"\n"O""Neil", plain text ,"3"\nplain text,a"b,4\n'
    edges = table(tmp_path, content)
    assert triples(edges) == [("Smith, J.", 'O"Neil', 2), ('O"Neil', "plain text", 3), ("plain text", 'a"b', 4)]
    spaced = table(tmp_path, '"New York"  Boston 1\nBoston "Los Angeles" 2\n', "names.txt")
    assert triples(spaced) == [("New York", "Boston", 1), ("Boston", "Los Angeles", 2)]


def test_names_with_blanks_between_tabs(tmp_path):
    assert triples(table(tmp_path, "New York\tSan José\t1\n", "names.tsv")) == [("New York", "San José", 1)]


def test_header_without_rows_is_an_empty_graph(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("source,target,weight\n")
    assert (read(path).n, read(path).m) == (0, 0)


def test_a_parquet_file_is_named(tmp_path):
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    parquet.write_table(pyarrow.table({"u": [[0], [1]], "v": [[1], [2]]}), tmp_path / "table.parquet")
    with pytest.raises(TrothError, match=r"table\.parquet: column 'u': the ids are neither"):
        read_input(tmp_path / "table.parquet")


def test_dictionary_encoded_parquet(tmp_path):
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    names = pyarrow.array(["b", "a", "b"]).dictionary_encode()
    parquet.write_table(pyarrow.table({"u": names, "v": ["c", "c", "a"], "w": [1, 2, 3]}), tmp_path / "table.parquet")
    assert triples(read_input(tmp_path / "table.parquet")) == [("b", "c", 1), ("a", "c", 2), ("b", "a", 3)]
