"""Pairs of rows: near the optimum of exact solvers, within calipers, groups and strata, in the user's kind of table."""

from __future__ import annotations

import networkx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist

import troth
from troth.api.alternating import improve
from troth.api.calls import match_graph
from troth.api.candidates import nearest_pairs, place_rows
from troth.api.request import make_request

pandas = pytest.importorskip("pandas")
polars = pytest.importorskip("polars")
pyarrow = pytest.importorskip("pyarrow")

PEOPLE = 300


def people(n=PEOPLE, seed=0):
    """A table of people, some treated: the older, the likelier."""
    random = np.random.default_rng(seed)
    age = random.normal(50, 15, n)
    return pandas.DataFrame(
        {
            "age": age,
            "income": random.lognormal(10, 0.5, n) + 100 * age,
            "pressure": random.normal(100, 10, n) + 0.5 * age,
            "treated": random.random(n) < 1 / (1 + np.exp((60 - age) / 10)),
            "city": random.choice(["Aachen", "Bonn", "Celle"], n),
            "person": [f"p{number:04}" for number in range(n)],
        },
    )


COVARIATES = ["age", "income", "pressure"]


def best(distance, reward):
    """The greatest sum of reward - distance, its distance and number of pairs; infinite distances are forbidden."""
    graph = networkx.Graph()
    n = len(distance)
    graph.add_nodes_from(range(n))
    near = [(i, j) for i in range(n) for j in range(i) if distance[i, j] < reward]
    graph.add_weighted_edges_from((i, j, reward - distance[i, j]) for i, j in near)
    pairs = networkx.max_weight_matching(graph)
    return sum(reward - distance[i, j] for i, j in pairs), sum(distance[i, j] for i, j in pairs), len(pairs)


def no_row_twice(pairs, n):
    rows = pairs.rows.ravel()
    assert len(set(rows.tolist())) == len(rows)
    assert sorted([*rows.tolist(), *pairs.unpaired_rows.tolist()]) == list(range(n))


# ---- against exact solvers ----


@st.composite
def tables(draw, most=16):
    """Small tables; whole numbers, so that rows and distances repeat."""
    n, columns = draw(st.integers(2, most)), draw(st.integers(1, 3))
    values = draw(st.lists(st.integers(-9, 9), min_size=n * columns, max_size=n * columns))
    return np.array(values, float).reshape(n, columns)


@settings(max_examples=25)
@given(tables(), st.integers(0, 2))
def test_all_candidates_come_near_the_optimum(X, caliper):
    caliper = [None, 3.0, 8.0][caliper]
    pairs = troth.pair_rows(X, k=len(X) - 1, metric="euclidean", caliper=caliper)
    no_row_twice(pairs, len(X))
    distance = cdist(X, X)
    assert pairs.distance == pytest.approx(distance[*pairs.rows.T])
    optimum, *_ = best(distance, pairs.reward)
    assert pairs.objective >= optimum * 2 / 3 / 1.004 - 1e-9  # what an auction promises where there are odd cycles
    assert pairs.certificate.bound >= optimum * (1 - 1e-9)
    assert caliper is None or (pairs.distance <= caliper).all()


def test_what_is_found_is_much_nearer_than_what_is_promised():
    """Sixty small tables, all pairs candidates: nearly all within half a per cent, and the others not far off."""
    shares = []
    for seed in range(60):
        random = np.random.default_rng(seed)
        X = random.integers(-9, 10, (random.integers(4, 17), random.integers(1, 4))).astype(float)
        pairs = troth.pair_rows(X, k=len(X), metric="euclidean")
        shares.append(pairs.objective / best(cdist(X, X), pairs.reward)[0])
    assert np.quantile(shares, 0.02) >= 0.995
    assert min(shares) >= 0.97


@settings(max_examples=40)
@given(tables(), st.data())
def test_groups_reach_the_optimum(X, data):
    treated = np.array(data.draw(st.lists(st.booleans(), min_size=len(X), max_size=len(X))))
    treated[:2] = True, False
    pairs = troth.pair_rows(X, treated, k=len(X), metric="euclidean", caliper=6.0)
    no_row_twice(pairs, len(X))
    first, second = pairs.rows.T
    assert treated[first].all()
    assert not treated[second].any()
    worth = np.maximum(0, 6.0 - cdist(X[treated], X[~treated]))
    optimum = worth[linear_sum_assignment(worth, maximize=True)].sum()
    assert pairs.objective >= 0.995 * optimum - 1e-9
    assert pairs.certificate.bound >= optimum * (1 - 1e-9)


@pytest.mark.parametrize("columns", [2, 8])
@pytest.mark.parametrize("grouped", [False, True])
def test_near_candidates_reach_their_optimum(columns, grouped):
    """The candidates of 300 rows: their optimum by an exact solver."""
    random = np.random.default_rng(columns)
    X = random.normal(size=(300, columns))
    treated = random.random(300) < 1 / (1 + np.exp(-X[:, 0])) if grouped else None
    pairs = troth.pair_rows(X, treated, k=6)
    side = None if treated is None else np.where(treated, 0, 1)
    places, _ = place_rows(X, "mahalanobis", side)
    order, near = nearest_pairs(places, k=6, side=side)
    distance = np.full((300, 300), np.inf)
    first, second = order[near.first], order[near.second]
    distance[first, second] = distance[second, first] = near.distance
    assert pairs.reward == near.distance.max()
    optimum, least, many = best(distance, pairs.reward)
    assert pairs.objective >= 0.995 * optimum
    assert pairs.distance.sum() <= 1.02 * least + pairs.reward * max(0, len(pairs) - many)
    assert optimum <= pairs.certificate.bound * (1 + 1e-9)
    assert pairs.certificate.ratio > 0.98
    assert pairs.certificate.weight == pytest.approx(pairs.objective)


def test_trees_join_what_is_free_far_apart():
    """A path whose ends are free: seven pairs between them give way, and eight are made."""
    row, col = np.arange(15), np.arange(1, 16)
    graph = troth.as_graph((row, col, np.ones(15)))
    mate = np.full(16, -1, np.int32)
    mate[1:15:2], mate[2:15:2] = np.arange(2, 16, 2), np.arange(1, 15, 2)
    small = make_request("suitor", "cpu")
    found, counts = improve(
        graph, mate, 1.0, lambda edges: match_graph(small, troth.as_graph(edges)).mate, loosen=None, seed=0
    )
    assert found.tolist() == [at ^ 1 for at in range(16)]
    assert counts["tree_rounds"] >= 1
    assert mate[0] == -1  # what was given stays


@settings(max_examples=40)
@given(st.integers(0, 2**32), st.integers(4, 40))
def test_trees_and_loosened_pairs_only_add_weight(seed, n):
    random = np.random.default_rng(seed)
    m = 3 * n
    graph = troth.as_graph((random.integers(0, n, m), random.integers(0, n, m), random.integers(1, 9, m) / 8))
    begun = match_graph(make_request("local-random", "cpu", seed=seed), graph)
    small = make_request("suitor", "cpu")

    def pair_roots(edges):
        return match_graph(small, troth.as_graph(edges)).mate

    mate, _ = improve(graph, begun.mate, 1.0, pair_roots, loosen=1e-3, seed=seed)
    report = troth.verify(graph, mate, certify=False)
    assert report.valid
    assert report.weight >= begun.weight


# ---- what was asked for ----


def test_exact_columns_are_equal():
    table = people()
    pairs = troth.pair_rows(table, "treated", exact=["city"], on=COVARIATES)
    first, second = (table.iloc[side] for side in pairs.rows.T)
    assert len(pairs) > 50
    assert (first["city"].to_numpy() == second["city"].to_numpy()).all()
    assert first["treated"].all()
    assert not second["treated"].any()
    alone = troth.pair_rows(table, exact=["city", "treated", "person"], on="age")
    assert len(alone) == 0
    assert alone.certificate.ratio == 1.0
    assert len(alone.unpaired) == PEOPLE


def test_many_small_strata():
    """Ten thousand strata of four rows: two pairs in each, whatever lies nearer in another."""
    random = np.random.default_rng(1)
    stratum = random.permutation(np.repeat(np.arange(10_000), 4))
    table = pandas.DataFrame({"x": random.random(40_000), "y": random.random(40_000), "stratum": stratum})
    pairs = troth.pair_rows(table, exact="stratum", reward=10)
    assert len(pairs) == 20_000
    assert (stratum[pairs.rows[:, 0]] == stratum[pairs.rows[:, 1]]).all()


def test_rows_of_one_place_all_find_a_partner():
    """A thousand equal rows, each with five candidates: not all the same five."""
    X = np.repeat([[1.0, 2.0], [5.0, 5.0]], 500, axis=0)
    pairs = troth.pair_rows(X, k=5)
    assert len(pairs) >= 490
    assert pairs.distance.max() == 0
    between = troth.pair_rows(X, np.tile([True, False], 500), k=5)
    assert len(between) >= 490


@pytest.mark.parametrize("metric", ["mahalanobis", "euclidean"])
def test_caliper_is_the_largest_distance(metric):
    X = np.array([[0.0], [1.0], [3.0], [5.5]])
    apart = 1.0 if metric == "euclidean" else 1.0 / X.std(ddof=1)
    pairs = troth.pair_rows(X, metric=metric, caliper=apart * (1 + 1e-12))
    assert pairs.rows.tolist() == [[0, 1]]
    assert pairs.distance == pytest.approx([apart])
    assert len(troth.pair_rows(X, metric=metric, caliper=0.99 * apart)) == 0
    assert len(troth.pair_rows(X, metric=metric, caliper=np.inf)) == 2


def test_two_rows_are_a_pair_and_the_caliper_itself_is_allowed():
    assert troth.pair_rows([[1.0], [4.0]]).rows.tolist() == [[0, 1]]
    assert troth.pair_rows([[1], [2], [7]], metric="euclidean", caliper=1).rows.tolist() == [[0, 1]]


def test_a_larger_reward_makes_more_pairs():
    X = np.array([[0.0], [1.0], [1.1], [2.1]])
    few = troth.pair_rows(X, metric="euclidean", reward=1.01)
    more = troth.pair_rows(X, metric="euclidean", reward=100)
    assert few.rows.tolist() == [[1, 2]]
    assert more.rows.tolist() == [[0, 1], [2, 3]]


def test_mahalanobis_is_that_of_scipy():
    table = people()
    X = table[COVARIATES].to_numpy()
    pairs = troth.pair_rows(X)
    inverse = np.linalg.inv(np.cov(X, rowvar=False))
    apart = np.diff(X[pairs.rows], axis=1)[:, 0]
    assert pairs.distance == pytest.approx(np.sqrt(np.einsum("ij,jk,ik->i", apart, inverse, apart)))
    treated = table["treated"].to_numpy()
    grouped = troth.pair_rows(X, treated)
    one, other = X[treated], X[~treated]
    pooled = ((len(one) - 1) * np.cov(one, rowvar=False) + (len(other) - 1) * np.cov(other, rowvar=False)) / (
        len(X) - 2
    )
    apart = np.diff(X[grouped.rows], axis=1)[:, 0]
    assert grouped.distance == pytest.approx(np.sqrt(np.einsum("ij,jk,ik->i", apart, np.linalg.inv(pooled), apart)))


def test_constant_and_dependent_columns_count_nothing():
    X = people()[COVARIATES].to_numpy()
    more = np.column_stack([X, np.full(len(X), 0.1), X[:, 0] - 2 * X[:, 1]])
    pairs = troth.pair_rows(more)
    assert pairs.stats["directions"] == 3
    assert pairs.distance.sum() == pytest.approx(troth.pair_rows(X).distance.sum(), rel=0.01)
    assert len(troth.pair_rows(np.ones((6, 2)))) == 3


# ---- tables ----


def kinds():
    table = people()
    return {
        "pandas": table.set_index("person"),
        "polars": polars.from_pandas(table),
        "pyarrow": pyarrow.Table.from_pandas(table, preserve_index=False),
    }


def test_every_kind_of_table_comes_back():
    types = {"pandas": pandas.DataFrame, "polars": polars.DataFrame, "pyarrow": pyarrow.Table}
    found = {}
    for kind, table in kinds().items():
        ids = None if kind == "pandas" else "person"
        pairs = troth.pair_rows(table, "treated", exact="city", ids=ids, caliper=2)
        for made in (pairs.table, pairs.unpaired, pairs.balance):
            assert isinstance(made, types[kind])
        shown = pairs.table if kind == "pandas" else pairs.table.to_pandas()
        assert list(shown.columns) == ["first", "second", "distance"]
        assert shown["first"].str.startswith("p").all()
        balance = pairs.balance if kind == "pandas" else pairs.balance.to_pandas()
        assert balance["column"].tolist() == COVARIATES
        assert len(pairs.unpaired) == PEOPLE - 2 * len(pairs)
        found[kind] = shown[["first", "second"]].to_numpy().tolist()
    assert found["pandas"] == found["polars"] == found["pyarrow"]


def test_arrays_have_row_numbers():
    X = people()[COVARIATES].to_numpy()
    treated = people()["treated"].to_numpy()
    pairs = troth.pair_rows(X, treated, caliper=1.0)
    assert pairs.table.dtype.names == ("first", "second", "distance")
    assert pairs.table["first"].tolist() == pairs.rows[:, 0].tolist()
    assert (pairs.unpaired == X[pairs.unpaired_rows]).all()
    assert pairs.balance["column"].tolist() == ["0", "1", "2"]
    whole = np.column_stack([X, treated])
    assert troth.pair_rows(whole, 3, caliper=1.0).rows.tolist() == pairs.rows.tolist()
    named = troth.pair_rows(X, treated.tolist(), caliper=1.0, ids=np.arange(len(X)) + 1000)
    assert named.table["first"].tolist() == (pairs.rows[:, 0] + 1000).tolist()


def test_types_of_columns():
    """Nullable numbers, truth values, decimals and small floats are numbers."""
    table = pandas.DataFrame(
        {
            "a": pandas.array([1, 2, 3, 4], "Int64"),
            "b": [True, False, True, False],
            "c": np.array([1, 2, 3, 5], np.float32),
        }
    )
    for X in (table, polars.from_pandas(table), pyarrow.Table.from_pandas(table)):
        assert len(troth.pair_rows(X)) == 2


# ---- balance ----


def test_balance_is_the_standardised_mean_difference():
    table = people(2000)
    pairs = troth.pair_rows(table, "treated", on=COVARIATES, caliper=0.5)
    assert pairs.groups == (True, False)
    one, other = (table[table["treated"] == value] for value in (True, False))
    first, second = (table.iloc[side] for side in pairs.rows.T)
    for line, name in enumerate(COVARIATES):
        scale = np.sqrt((one[name].var() + other[name].var()) / 2)
        before, after = pairs.balance.loc[line, ["before", "after"]]
        assert before == pytest.approx((one[name].mean() - other[name].mean()) / scale)
        assert after == pytest.approx((first[name].mean() - second[name].mean()) / scale)
    assert abs(pairs.balance["after"]).max() < 0.1 < abs(pairs.balance["before"]).max()


def test_balance_without_groups_compares_with_any_two_rows():
    X = people(100)[COVARIATES].to_numpy()
    pairs = troth.pair_rows(X)
    for at in range(3):
        column = X[:, at]
        any_two = np.abs(column[:, None] - column)[~np.eye(len(X), dtype=bool)].mean()
        paired = np.abs(np.diff(column[pairs.rows], axis=1)).mean()
        assert pairs.balance["before"][at] == pytest.approx(any_two / column.std(ddof=1))
        assert pairs.balance["after"][at] == pytest.approx(paired / column.std(ddof=1))


@pytest.mark.parametrize("groups", [None, "treated"])
def test_love_plot(groups):
    pytest.importorskip("matplotlib").use("agg")
    from matplotlib import pyplot

    pairs = troth.pair_rows(people(), groups, on=COVARIATES)
    figure = pairs.plot()
    (ax,) = figure.axes
    labels = [label.get_text() for label in ax.get_yticklabels()]
    assert sorted(labels) == sorted(COVARIATES)
    before, after = (dict(zip(labels, line.get_xdata(), strict=True)) for line in ax.lines[:2])
    table = pairs.balance.set_index("column")
    for name in COVARIATES:
        assert before[name] == abs(table.loc[name, "before"])
        assert after[name] == abs(table.loc[name, "after"])
    own = pyplot.figure().subplots()
    assert pairs.plot(own) is own.figure
    pyplot.close("all")


# ---- the same again, and nothing ----


def test_the_same_whatever_the_threads():
    X = np.random.default_rng(0).normal(size=(5000, 4)).round(1)
    found = [troth.pair_rows(X, threads=threads) for threads in (1, 2, None)]
    assert found[0].rows.tolist() == found[1].rows.tolist() == found[2].rows.tolist()
    assert found[0].certificate == found[1].certificate == found[2].certificate


@pytest.mark.parametrize("n", [0, 1])
def test_tables_without_a_pair(n):
    pairs = troth.pair_rows(np.zeros((n, 2)))
    assert len(pairs) == 0
    assert pairs.certificate.ratio == 1.0
    assert pairs.table.shape == (0,)
    assert len(pairs.unpaired) == n
    assert len(pairs.balance) == 2


def test_repr_says_what_was_found():
    pairs = troth.pair_rows([[1.0], [2.0], [4.0], [8.0]], metric="euclidean")
    assert repr(pairs) == (
        "RowPairs(2 pairs, 0 of 4 rows unpaired, distance 5 in all, 6 candidates, at least 1.0 of the best objective)"
    )
    assert "objective" not in repr(troth.pair_rows([[1.0], [2.0]], certify=False))


# ---- refusals ----

TABLE = people(20)
MISSING = TABLE.assign(age=TABLE["age"].where(TABLE.index != 7))


@pytest.mark.parametrize(
    ("X", "options", "words"),
    [
        (TABLE, {}, "column 'city' has no numbers, so no distance; name it in exact="),
        (MISSING[COVARIATES], {}, "the pandas table: column 'age' is missing in row 7; fill or drop such rows"),
        (polars.from_pandas(MISSING[COVARIATES]), {}, "the polars table: column 'age' is missing in row 7"),
        (pyarrow.Table.from_pandas(MISSING[COVARIATES]), {}, "the pyarrow table: column 'age' is missing in row 7"),
        ([[1.0], [np.inf], [2.0]], {}, "the array: column '0' is infinite in row 1"),
        (TABLE[COVARIATES], {"groups": "treated"}, "groups: the pandas table has no column 'treated'"),
        (
            TABLE,
            {"on": COVARIATES, "groups": "city"},
            "two different values, and here are 3 ('Aachen', 'Bonn', 'Celle')",
        ),
        (TABLE[COVARIATES], {"groups": [1] * 20}, "groups: groups have two different values, and here are 1 (1)"),
        (TABLE[COVARIATES], {"groups": [1, 0]}, "groups: 2 values for 20 rows"),
        (TABLE[COVARIATES], {"groups": [None, *[1] * 19]}, "groups: the value of row 0 is missing"),
        (TABLE[COVARIATES], {"groups": TABLE["treated"][::-1]}, "groups: its index is not that of the table"),
        (TABLE, {"on": COVARIATES, "ids": "city"}, "have the same id; name others by ids="),
        (TABLE, {"on": ["age", "age"]}, "on=['age', 'age']: give every column once"),
        (TABLE, {"on": []}, "no column is left for the distance; name some by on="),
        (TABLE[COVARIATES], {"k": 0}, "k=0: give a whole number of 1 or more"),
        (TABLE[COVARIATES], {"caliper": -1}, "caliper=-1: give a number of 0 or more, or None"),
        (TABLE[COVARIATES], {"caliper": float("nan")}, "caliper=nan: give a number of 0 or more, or None"),
        (TABLE[COVARIATES], {"reward": np.inf}, "reward=inf: give a number from 0 to 1e+150, or None"),
        (TABLE[COVARIATES], {"metric": "cosine"}, "metric='cosine' is not known: choose mahalanobis, euclidean"),
        (TABLE[COVARIATES], {"device": "mpi"}, "runs on MPI ranks, but pairs of rows do not"),
        ([[1e200], [-1e200]], {"metric": "euclidean"}, "distances are beyond float64"),
        (np.zeros(5), {}, "ndarray is not a table of rows, but has 1 dimensions of float64"),
        (polars.LazyFrame({"a": [1]}), {}, "LazyFrame is not a table of rows"),
        (TABLE["age"], {}, "Series is not a table of rows"),
    ],
)
def test_refusals_are_one_line(X, options, words):
    with pytest.raises(troth.TrothError) as error:
        troth.pair_rows(X, **options)
    assert words in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.gpu
def test_on_a_gpu():
    X = np.random.default_rng(0).normal(size=(5000, 4))
    here, there = (troth.pair_rows(X, device=device) for device in ("cpu", "cuda"))
    assert here.rows.tolist() == there.rows.tolist()
    assert here.certificate == there.certificate


def test_ordered_categories_say_which_group_is_greater():
    kind = pandas.CategoricalDtype(["control", "case"], ordered=True)
    table = pandas.DataFrame({"a": [1.0, 2, 10, 11], "g": pandas.Series(["control", "case"] * 2, dtype=kind)})
    assert troth.pair_rows(table, "g").groups == ("case", "control")
