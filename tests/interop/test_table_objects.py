"""pandas, polars and pyarrow tables: in as edges, out as tables of the same kind."""

from __future__ import annotations

import numpy as np
import pytest

from troth.api.calls import match
from troth.api.opening import as_graph
from troth.errors import TrothError
from troth.neighbours.tables import edges_to_table, table_to_edges

PACKAGES = ("pandas", "polars", "pyarrow")


def make(package: str, columns: dict):
    module = pytest.importorskip(package)
    return module.table(columns) if package == "pyarrow" else module.DataFrame(columns)


@pytest.mark.parametrize("package", PACKAGES)
@pytest.mark.parametrize("dtype", ["int8", "int64", "uint32", "float32", "float64", "bool"])
def test_numbers(package, dtype):
    weight = np.array([1, 0, 1], dtype)
    table = make(package, {"w": weight, "v": np.array([1, 2, 0]), "u": np.array([0, 1, 2], np.int32)})
    edges = table_to_edges(table)
    assert (edges.row.tolist(), edges.col.tolist(), edges.ids, edges.n) == ([0, 1, 2], [1, 2, 0], None, 3)
    assert edges.weight.dtype == dtype
    assert edges.weight.tolist() == weight.tolist()


@pytest.mark.parametrize("package", PACKAGES)
def test_text_and_columns(package):
    table = make(package, {"day": [1, 2], "who": ["b", "a"], "whom": ["c", "b"], "how": [0.5, 1.5]})
    edges = table_to_edges(table, columns=("who", "whom", "how"))
    assert (edges.row.tolist(), edges.col.tolist(), edges.ids.tolist()) == ([1, 0], [2, 1], ["a", "b", "c"])
    assert edges.weight.tolist() == [0.5, 1.5]
    with pytest.raises(TrothError, match=f"the {package} table: its columns 'day', 'who', 'whom', 'how' are not named"):
        table_to_edges(table)


@pytest.mark.parametrize("package", PACKAGES)
def test_base_and_two_columns(package):
    edges = table_to_edges(make(package, {"I": [1, 2], "J": [2, 3]}), base=1)
    assert (edges.row.tolist(), edges.col.tolist(), edges.weight) == ([0, 1], [1, 2], None)
    assert edges.ids.tolist() == [1, 2, 3]
    assert match(make(package, {"I": [1, 2], "J": [2, 3]})).edges().tolist() in ([[1, 2]], [[2, 3]])


@pytest.mark.parametrize("package", PACKAGES)
def test_features_are_no_edges(package):
    people = make(package, {"age": [18, 30, 44], "income": [100, 200, 300], "score": [0.5, 1.5, 2.5]})
    with pytest.raises(TrothError, match=r"'age', 'income', 'score' are not named as edges .* call troth\.pair_rows"):
        match(people)
    assert as_graph(people, columns=("age", "income", "score")).m == 3  # they are, if the user says so
    with pytest.raises(TrothError, match="is 'year' the weight"):
        match(make(package, {"u": [0], "v": [1], "year": [2020]}))
    with pytest.raises(TrothError, match="column 'v': ids are whole numbers or text, not float64: convert them"):
        match(make(package, {"u": [0, 1], "v": [1.0, 2.0], "w": [1, 2]}))


@pytest.mark.parametrize("package", PACKAGES)
def test_the_weight_alone_may_be_named(package):
    table = make(package, {"u": [0], "v": [1], "weight": [2.5], "year": [2020]})
    assert as_graph(table).weights.tolist() == [2.5, 2.5]
    assert as_graph(table, weight="year").weights.tolist() == [2020, 2020]
    assert as_graph(table, columns=("u", "v"), weight="year").weights.tolist() == [2020, 2020]
    with pytest.raises(TrothError, match=r"'yaer' is not there, or not once \(did you mean 'year'\?\)"):
        as_graph(table, weight="yaer")
    with pytest.raises(TrothError, match="name two weights"):
        as_graph(table, columns=("u", "v", "weight"), weight="year")


@pytest.mark.parametrize("package", PACKAGES)
@pytest.mark.parametrize("name", ["distance", "Dist", "edge_length", "travelTime", "cost (EUR)", "Distance_km"])
def test_a_cost_is_no_weight(package, name):
    table = make(package, {"u": [0, 1], "v": [1, 2], name: [4.0, 9.0]})
    for columns in (None, ("u", "v", name)):
        with pytest.raises(TrothError, match=r"column .* is a cost by its name.*maximize=False.*maximize=True"):
            as_graph(table, columns=columns)
        assert as_graph(table, columns=columns, maximize=True).m == 2
    assert match(table, maximize=True).weight == 9.0
    assert as_graph(table, weights="unit").weights.tolist() == [1] * 4  # the values do not matter
    assert as_graph(table, columns=("u", "v")).weights.tolist() == [1] * 4
    with pytest.raises(TrothError, match="maximize='no': give True"):
        match(table, maximize="no")


@pytest.mark.parametrize("package", PACKAGES)
def test_missing_values(package):
    with pytest.raises(TrothError, match="edge 1 lacks the name"):
        table_to_edges(make(package, {"u": ["a", None], "v": ["b", "c"]}))
    with pytest.raises(TrothError, match="edge 1 names vertex nan"):
        table_to_edges(make(package, {"u": [0, None], "v": [1, 2]}))
    with pytest.raises(TrothError, match=r"edge 1 .* has weight nan"):
        as_graph(make(package, {"u": [0, 1], "v": [1, 2], "w": [1.5, None]}))
    with pytest.raises(TrothError, match="column 'w': the weights are not numbers"):
        table_to_edges(make(package, {"u": [0, 1], "v": [1, 2], "w": ["x", "y"]}))
    with pytest.raises(TrothError, match="edge 1 lacks the name"):
        table_to_edges(make(package, {"u": ["a", ""], "v": ["b", "c"]}))


@pytest.mark.parametrize("package", PACKAGES)
@pytest.mark.parametrize("ids", [[[0], [1]], [[0, 1], [1]], [b"a", b"\xff"]], ids=str)
def test_ids_that_are_no_names(package, ids):
    with pytest.raises(
        TrothError, match=f"the {package} table: column 'v': the ids are neither whole numbers nor text"
    ):
        table_to_edges(make(package, {"u": ["a", "b"], "v": ids}))


def test_pandas_nullable_and_categorical():
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame({"u": [0, 1], "v": [1, 2], "w": [3, 4]}).astype("Int32")
    edges = table_to_edges(table)
    assert edges.weight.dtype == np.int32
    assert edges.row.tolist() == [0, 1]
    table["w"] = pandas.array([3, None], "Int32")
    assert np.isnan(table_to_edges(table).weight).tolist() == [False, True]
    names = pandas.DataFrame({"u": pandas.Categorical(["b", "a"]), "v": pandas.array(["a", pandas.NA], "string")})
    with pytest.raises(TrothError, match="edge 1 lacks the name"):
        table_to_edges(names)
    names["v"] = ["a", "c"]
    assert table_to_edges(names).ids.tolist() == ["a", "b", "c"]


def test_pandas_sparse_columns_and_numbers_beyond_64_bits():
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame({"u": [0, 1], "v": [1, 2], "w": pandas.arrays.SparseArray([0, 4])})
    assert table_to_edges(table).weight.tolist() == [0, 4]
    table["u"] = [2**63, 2**70]
    assert table_to_edges(table).ids.tolist() == ["1", str(2**70), "2", str(2**63)]


def test_pandas_labels():
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame([[5.0, 0, 1], [6.0, 1, 2]])
    assert table_to_edges(table, columns=(1, 2, 0)).weight.tolist() == [5.0, 6.0]
    with pytest.raises(TrothError, match="give two or three different names"):
        table_to_edges(table, columns=(1, 1, 0))
    with pytest.raises(TrothError, match=r"column '\[1\]' is not there"):
        table_to_edges(table, columns=([1], 2))
    table.columns = ["source", "Source", "target"]
    with pytest.raises(TrothError, match="more than one column is called 'source'"):
        table_to_edges(table)


@pytest.mark.parametrize("package", PACKAGES)
def test_empty(package):
    graph = as_graph(make(package, {"u": np.empty(0, np.int64), "v": np.empty(0, np.int64)}))
    assert (graph.n, graph.m) == (0, 0)


@pytest.mark.parametrize("package", PACKAGES)
@pytest.mark.parametrize("ids", [["ann", "bob", "cy", "dee"], [10, 20, 35, 40], ["ß", "ä", "é", "猫"]])
def test_tables_in_and_the_same_kind_out(package, ids):
    likes = make(package, {"from": ids[:3], "to": ids[1:], "score": [0.5, 2.5, 0.25]})
    pairs = match(likes).to_table(like=likes)
    assert type(pairs) is type(likes)
    columns = {name: np.asarray(pairs[name]).tolist() for name in ("source", "target", "weight")}
    assert columns == {"source": [ids[1]], "target": [ids[2]], "weight": [2.5]}


@pytest.mark.parametrize("package", ["pandas", "polars"])  # pyarrow makes no tables of a subclass
def test_a_subclass_of_another_package_is_a_table(package):
    frame = pytest.importorskip(package).DataFrame
    likes = type("Frame", (frame,), {"__module__": "another"})({"u": [0, 1], "v": [1, 2], "w": [0.5, 2.5]})
    pairs = match(likes).to_table(like=likes)
    assert type(pairs) is frame
    assert np.asarray(pairs).tolist() == [[1, 2, 2.5]]


def test_a_lazy_frame_is_no_table():
    polars = pytest.importorskip("polars")
    with pytest.raises(TrothError, match="LazyFrame is not a table"):
        table_to_edges(polars.LazyFrame({"u": [0], "v": [1]}))


def test_what_is_no_table():
    pandas = pytest.importorskip("pandas")
    for thing in (pandas.Series([1, 2]), [1, 2], "text"):
        with pytest.raises(TrothError, match="is not a table"):
            table_to_edges(thing)


@pytest.mark.parametrize("package", PACKAGES)
def test_edges_to_table(package):
    table = edges_to_table(np.array([0, 2]), np.array([1, 3]), np.array([0.5, 1.5]), make(package, {"x": [1]}))
    assert type(table).__module__.startswith(package)
    back = table_to_edges(table)
    assert (back.row.tolist(), back.col.tolist(), back.weight.tolist()) == ([0, 2], [1, 3], [0.5, 1.5])
    assert type(edges_to_table(back.row, back.col, back.weight, package)) is type(table)


def test_edges_to_an_unknown_table():
    with pytest.raises(TrothError, match="choose pandas, polars, pyarrow"):
        edges_to_table(np.array([0]), np.array([1]), np.array([1]), "excel")
    with pytest.raises(TrothError, match=r"^like=ndarray: choose pandas, .*, or give one of their tables$"):
        edges_to_table(np.array([0]), np.array([1]), np.array([1]), np.eye(30))
