"""Cached graphs: equal to fresh ones, and made again where damaged."""

from __future__ import annotations

import json

import numpy as np
import pytest

from bench import cache, catalogue

INSTANCE = catalogue.Instance("grid", "mesh", "grid:rows=20,cols=20,seed=5")


def same(graph) -> bool:
    fresh = catalogue.make(INSTANCE.spec)
    pairs = ((graph.indptr, fresh.indptr), (graph.indices, fresh.indices), (graph.weights, fresh.weights))
    return all(np.array_equal(a, b) and a.dtype == b.dtype for a, b in pairs)


def flip(path):
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)


DAMAGE = {
    "a flipped bit": lambda entry: flip(entry / "weights.npy"),
    "a short file": lambda entry: (entry / "indices.npy").write_bytes((entry / "indices.npy").read_bytes()[:-40]),
    "an array missing": lambda entry: (entry / "indptr.npy").unlink(),
    "no checksum": lambda entry: (entry / cache.SUM).unlink(),
    "a torn checksum": lambda entry: (entry / cache.SUM).write_text('{"indp'),
    "another checksum": lambda entry: (entry / cache.SUM).write_text(json.dumps({"indptr": "0"})),
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_damaged_entry_is_made_again(tmp_path, damage):
    assert same(cache.load(INSTANCE, tmp_path))
    (entry,) = tmp_path.iterdir()
    assert cache._open(entry) is not None
    damage(entry)
    assert cache._open(entry) is None
    assert same(cache.load(INSTANCE, tmp_path))
    assert cache._open(entry) is not None


def test_changed_spec_is_another_entry(tmp_path):
    cache.load(INSTANCE, tmp_path)
    other = cache.load(INSTANCE._replace(spec="grid:rows=20,cols=20,seed=6"), tmp_path)
    assert not same(other)
    assert len(list(tmp_path.iterdir())) == 2


def test_no_room_is_no_error(tmp_path):
    (tmp_path / "file").write_text("")
    assert same(cache.load(INSTANCE, tmp_path / "file" / "below"))


def test_where_graphs_are_kept(tmp_path, monkeypatch):
    monkeypatch.setenv("TROTH_CACHE", str(tmp_path / "env"))
    assert cache.folder_of(tmp_path / "given") == tmp_path / "given"
    assert cache.folder_of(None) == tmp_path / "env"
    monkeypatch.delenv("TROTH_CACHE")
    assert cache.folder_of(None).parts[-2:] == ("troth", "graphs")
