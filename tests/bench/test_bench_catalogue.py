"""The table of graphs: families, sizes, and that nominal numbers are near the real ones."""

from __future__ import annotations

import numpy as np
import pytest

import troth
from bench import catalogue
from bench.setting import Setting

FAMILIES = {
    "structural", "fem", "mesh", "delaunay", "rgg", "road", "power", "circuit", "web", "social", "rmat", "erdos-renyi",
    "bipartite", "stencil",
}  # fmt: skip


def test_at_least_sixty_graphs_of_the_papers_families():
    found = catalogue.instances()
    sizes = [each.edges for each in found if not each.name.endswith("tiny")]
    assert len(sizes) >= 60
    assert len({each.name for each in found}) == len(found) == len({each.spec for each in found})
    assert {each.family for each in found} == FAMILIES
    assert min(sizes) > 9e4
    assert max(sizes) > 1e9


@pytest.mark.parametrize("instance", catalogue.of_size("tiny", 0), ids=lambda each: each.name)
def test_nominal_numbers_are_near(instance):
    graph = catalogue.make(instance.spec)
    assert graph.n == instance.vertices
    assert 0.6 * instance.edges <= graph.m <= 1.1 * instance.edges
    assert instance.edges <= catalogue.TINIEST


@pytest.mark.parametrize("family", sorted(FAMILIES - {"delaunay", "road"}))
def test_smallest_of_each_family_is_what_its_name_says(family):
    first = next(each for each in catalogue.of_size("small", catalogue.SMALL) if each.family == family)
    if family in ("structural", "fem", "mesh", "stencil"):
        assert catalogue.make(first.spec).m == first.edges
    scale = {"k": 1e3, "m": 1e6}[first.name[-1]] * float(first.name.rpartition("-")[2][:-1])
    assert 0.8 * scale <= first.edges <= 1.25 * scale


def test_thinned_graph_is_a_part_of_the_whole():
    whole = troth.generate("rgg", n=2000, degree=7, seed=3)
    part = catalogue.thin(whole, 0.4)
    troth.as_graph(part.to_scipy())  # the gate finds both directions equal
    inside = whole.to_scipy().multiply(part.to_scipy() > 0)
    assert part.m == inside.nnz // 2
    assert np.array_equal(inside.tocsr().sorted_indices().data, part.weights)
    assert abs(part.m / whole.m - 0.4) < 0.05


def test_sizes_choose():
    tiny, small = Setting(size="tiny"), Setting(size="small")
    assert 1 <= len(tiny.instances) <= 10
    assert max(each.edges for each in small.instances) <= catalogue.SMALL
    assert {each.name for each in tiny.instances}.isdisjoint(each.name for each in small.instances)
    roads = Setting(size="small", graphs=["road", "rmat-*"]).instances
    assert {each.family for each in roads} == {"road", "rmat"}
    with pytest.raises(troth.TrothError, match="--graphs raod"):
        _ = Setting(size="tiny", graphs=["raod"]).instances


def test_files_under_the_papers_rule(tmp_path):
    (tmp_path / "a.mtx").write_text(
        "%%MatrixMarket matrix coordinate real general\n4 4 5\n1 1 9\n1 2 -3\n2 1 2\n2 3 0\n3 4 1\n"
    )
    (tmp_path / "b.graph").write_text("3 2\n2\n1 3\n2\n")
    (tmp_path / "c.csv").write_text("1 0 2.0\n0 1 2.0\n2 2 1.0\n2 1 5.0\n")
    (tmp_path / "notes.txt").write_text("no graph\n")
    setting = Setting(size="tiny", folders=[tmp_path], graphs=["file"])
    assert [each.name for each in setting.instances] == ["a.mtx", "b.graph", "c.csv"]
    a, b, c = setting.load("a.mtx"), setting.load("b.graph"), setting.load("c.csv")
    assert (a.n, a.m, sorted(a.weights.tolist())) == (4, 2, [1, 1, 3, 3])  # loop and zero gone, larger direction
    assert b.m == 2
    assert (c.n, c.m, sorted(c.weights.tolist())) == (3, 2, [2, 2, 5, 5])  # a list of edges: both directions, a loop
    assert len(set(b.weights.tolist())) == 2  # a pattern: random weights
    assert str(tmp_path) not in setting.instances[0].origin
    with pytest.raises(troth.TrothError, match="no MatrixMarket file, METIS file or list of edges"):
        catalogue.of_folder(tmp_path.parent / tmp_path.name / "..")
