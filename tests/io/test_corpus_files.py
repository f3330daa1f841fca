"""Real files: counts against the manifest, and the parser cases against EXPECTED.md."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

from troth.api.opening import read
from troth.errors import TrothError

OPTIONS = {"weights": "abs", "symmetrize": "max"}
EDGE_LISTS = {
    "MIT8.edgelist.gz": (6440, 251252),
    "dolphins_multi_edge.csv": (62, 159),
    "email-Eu-core.csv.gz": (1005, 16064),
    "karate_s_loop.csv": (34, 78),
    "mouse_54781_dti.edgelist.gz": (332, 40095),
    "wiki-Vote.txt.gz": (7115, 100762),
}


def test_matrices_and_graphs_have_the_counts_of_the_manifest(data):
    manifest = json.loads(data("manifest.json").read_text())
    wrong = {}
    for name, counts in manifest.items():
        if name.startswith(("matrices/", "graphs/")):
            graph = read(data(name), **OPTIONS)
            if (graph.n, graph.m) != (counts["n"], counts["m"]):
                wrong[name] = graph
    assert not wrong


@pytest.mark.parametrize("name", EDGE_LISTS)
def test_edge_lists(name, data):
    graph = read(data(f"edgelists/{name}"))
    assert (graph.n, graph.m) == EDGE_LISTS[name]
    if name == "wiki-Vote.txt.gz":
        assert graph.ids[[0, -1]].tolist() == [3, 8297]
    else:
        assert graph.ids is None
    if name == "mouse_54781_dti.edgelist.gz":
        assert (graph.weights.min(), graph.weights.max()) == (1, 112701)


def _refusal(path) -> str | None:
    try:
        read(path, **OPTIONS)
    except TrothError as error:
        return str(error)
    return None


@pytest.mark.parametrize("kind", ["mtx", "metis"])
def test_parser_cases(kind, data):
    section = data("parser/EXPECTED.md").read_text().split(f"## {kind}/")[1].split("\n## ")[0]
    rows = re.findall(r"^\| (.+?) \| refuse", section, re.MULTILINE)
    refused = {name for row in rows for name in row.split()}
    assert refused
    messages = {path: _refusal(path) for path in data(f"parser/{kind}").iterdir()}
    found = {path.stem for path, message in messages.items() if message is not None}
    assert all(message.startswith(str(path)) for path, message in messages.items() if message is not None)
    assert found == refused


def test_parser_case_details(data):
    graph = read(data("parser/metis/graph_empty_lines.graph"))
    assert (graph.n, graph.m) == (15, 3)
    assert {0.9, 5.5} <= set(read(data("parser/metis/zoltan_ewgt.graph")).weights.tolist())
    assert read(data("parser/metis/tiny_04.graph")).vertex_weights.shape == (7, 3)
    assert read(data("graphs/brack2_3.graph.gz")).vertex_weights.shape == (62631, 3)
    hypersparse = read(data("parser/mtx/LFAT5_hypersparse.mtx"), **OPTIONS)
    degrees = np.diff(hypersparse.indptr)
    assert degrees[:14].any()
    assert not degrees[14:].any()
    assert hypersparse.n == 2000


def test_integers_beyond_floats_stay_exact(data):
    graph = read(data("parser/mtx/matrix_int64.mtx"), **OPTIONS)
    assert graph.weights.max() == 2**63 - 1
    assert 9223372036854775800 in graph.weights
