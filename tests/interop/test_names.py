"""Names of every kind, from a graph to a file and back."""

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
