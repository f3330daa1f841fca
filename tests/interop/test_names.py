"""Names of every kind, from a graph to a file and back."""

import tracemalloc

import networkx as nx
import numpy as np
import pandas as pd
import pytest

import troth


@pytest.mark.parametrize("suffix", ["csv", "txt", "edgelist", "parquet", "csr"])
def test_mixed_and_tuple_names_are_written_as_text(tmp_path, suffix):
    graph = troth.as_graph(nx.Graph([("a", 1), (1, (2, 3)), ((2, 3), "a")]))
    troth.write(graph, tmp_path / f"g.{suffix}")
    again = troth.read(tmp_path / f"g.{suffix}")
    assert (again.n, again.m) == (3, 3)
    assert sorted(again.ids.tolist()) == ["(2, 3)", "1", "a"]


@pytest.mark.parametrize("dtype", [object, "category"])
def test_numbers_in_a_column_of_objects_stay_numbers(dtype):
    table = pd.DataFrame({"source": [10, 2], "target": [2, 30], "weight": [1.0, 2.0]})
    table = table.astype({"source": dtype, "target": dtype})
    assert np.asarray(troth.match(table).edges()).tolist() == [[2, 30]]


def test_anything_that_is_a_graph_can_be_written(tmp_path):
    troth.write(([0], [1], [2.5]), tmp_path / "g.csv")
    assert troth.read(tmp_path / "g.csv").weights.tolist() == [2.5, 2.5]


# ---- names that NumPy's text of one width would not keep ----

NUL = ["a", "a\0", "a\0\0", "\0"]


@pytest.mark.parametrize("package", ["pandas", "polars", "pyarrow", "networkx"])
def test_names_that_end_in_nul_are_kept(package, tmp_path):
    weight = [1.0, 5.0, 2.0]
    if package == "networkx":
        graph = troth.as_graph(nx.Graph((u, v, {"weight": w}) for u, v, w in zip(NUL, NUL[1:], weight, strict=False)))
    else:
        module, columns = pytest.importorskip(package), {"source": NUL[:-1], "target": NUL[1:], "weight": weight}
        table = module.table(columns) if package == "pyarrow" else module.DataFrame(columns)
        graph = troth.as_graph(table)
        pairs = troth.match(graph).to_table(like=table)
        ends = [pairs[name].to_numpy().tolist() for name in ("source", "target")]
        assert ends == [[NUL[1]], [NUL[2]]]
    assert sorted(graph.ids.tolist()) == sorted(NUL)
    assert [set(pair) for pair in troth.match(graph).edges().tolist()] == [{NUL[1], NUL[2]}]
    troth.write(graph, tmp_path / "g.csr")
    assert troth.read(tmp_path / "g.csr").ids.tolist() == graph.ids.tolist()
    assert set(graph.to_networkx()) == set(NUL)
    for suffix in ("csv", "parquet"):
        with pytest.raises(troth.TrothError, match="would not read back from a table"):
            troth.write(graph, tmp_path / f"g.{suffix}")


def test_one_long_name_does_not_set_the_width_for_all(tmp_path):
    """Nor does a weight of many digits; one width for all would take 240 MB for the cells of this file."""
    long = "x" * 20_000
    rows = [f"v{i},w{i % 50},{i}.123456789012345678" for i in range(6000)]
    weight = f"0.{'3' * 20_000}"
    (tmp_path / "g.csv").write_text("\n".join(["source,target,weight", f'{long},"w ""7"", 0",{weight}', *rows]))
    tracemalloc.start()
    graph = troth.read(tmp_path / "g.csv")
    assert (graph.n, graph.m, graph.ids[-1]) == (6052, 6001, long)
    assert float(weight) in graph.weights
    for suffix in ("csr", "csv", "txt", "parquet"):
        path = tmp_path / f"again.{suffix}"
        troth.write(graph, path)
        again = troth.read(path)
        assert again.ids.tolist() == graph.ids.tolist()
        assert again.weights.tolist() == graph.weights.tolist()
    table = pd.DataFrame({"source": [long, *(f"v{i}" for i in range(2000))], "target": "w", "weight": 1.0})
    assert troth.as_graph(table).n == 2002
    star = nx.Graph(zip(table["source"], table["target"], strict=True))
    assert troth.as_graph(star).ids.tolist() == list(star)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 60 * 2**20
    assert {path.name for path in (tmp_path / "again.csr").glob("n*")} == {"names.npy", "name_ends.npy"}


@pytest.mark.parametrize(("ends", "text"), [([1, 3, 2], b"abc"), ([1, 2, 4], b"abc"), ([1, 2, 3], b"ab\xff")])
def test_damaged_names_in_a_folder(ends, text, tmp_path):
    graph = troth.as_graph(nx.Graph([("a", "b\0"), ("b\0", "c")]))
    troth.write(graph, tmp_path / "g.csr")
    np.save(tmp_path / "g.csr" / "names.npy", np.frombuffer(text, np.uint8))
    np.save(tmp_path / "g.csr" / "name_ends.npy", np.array(ends))
    with pytest.raises(troth.TrothError, match=r"g\.csr"):
        troth.read(tmp_path / "g.csr")
