"""``.csr`` folders that are larger than memory: written a block of rows at a time, and mapped."""

from __future__ import annotations

import json
import os
import sys

import numpy as np
import pytest

import troth
from troth.families.blocks import row_blocks
from troth.inputs import Matrix
from troth.io import write_graph
from troth.io.csr import open_csr, shared_matrix

LATTICES = (
    "path:n=0", "path:n=1", "path:n=33", "grid:rows=5,cols=7", "grid:rows=1,cols=1", "grid:rows=3,cols=4,layers=5",
    "stencil:nx=4,ny=3,nz=2,unknowns=3", "stencil:nx=1,ny=9,nz=1", "complete:n=17", "complete:n=0",
)  # fmt: skip
LAWS = (
    "seed=7", "dtype=float64", "weights=unit,dtype=uint8", "weights=integers,high=1000,seed=-1,dtype=int64",
    "weights=exponential,dtype=float64,seed=3", "weights=trap",
)  # fmt: skip


def files(folder) -> dict[str, bytes]:
    return {each.name: each.read_bytes() for each in folder.iterdir()}


@pytest.mark.parametrize("spec", LATTICES)
def test_blocks_make_the_folder_of_the_whole_graph(tmp_path, spec):
    whole, parts = tmp_path / "whole.csr", tmp_path / "parts.csr"
    for law in LAWS:
        write_graph(troth.read(f"{spec},{law}"), whole)
        for most in (1, 20, 1000, 2**24):
            blocks = row_blocks(f"{spec},{law}", most)
            assert blocks is not None
            write_graph(blocks, parts)  # in the place of the one before
            assert files(parts) == files(whole)


def test_blocks_have_no_more_entries_than_asked_for():
    blocks = row_blocks("stencil:nx=9,ny=9,nz=9", 270)
    assert blocks is not None
    assert {len(indptr) - 1 for indptr, *_ in blocks.blocks} == {10, 9}
    assert blocks.m == troth.generate("stencil", nx=9, ny=9, nz=9).m


def test_what_is_made_whole():
    for spec in ("rmat:scale=5", "er:n=9,degree=2", "path:n=9,weights=increasing", "path:n=9,device=cuda"):
        assert row_blocks(spec) is None


def test_a_block_that_fails_leaves_the_folder_as_it_was(tmp_path):
    path = tmp_path / "graph.csr"
    write_graph(troth.generate("path", n=9), path)
    before = files(path)
    blocks = row_blocks("grid:rows=9,cols=9", 50)
    assert blocks is not None

    def ends():
        yield next(blocks.blocks)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_graph(blocks._replace(blocks=ends()), path)
    assert files(path) == before
    assert list(tmp_path.iterdir()) == [path]


# ---- mapping ----


@pytest.mark.skipif(sys.platform != "linux", reason="files with holes, and a system that keeps room for pages")
def test_an_array_larger_than_memory_is_mapped(tmp_path):
    entries = 2 * (os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 6)  # int32: 4/3 of the memory
    sizes = {"indptr": (2, "<i8"), "indices": (entries, "<i4"), "weights": (entries, "|u1")}
    for name, (length, kind) in sizes.items():
        with open(tmp_path / f"{name}.npy", "wb") as stream:
            np.lib.format.write_array_header_1_0(stream, {"descr": kind, "fortran_order": False, "shape": (length,)})
            if name == "indptr":
                stream.write(np.array([0, entries]).tobytes())
            else:
                stream.truncate(stream.tell() + length * np.dtype(kind).itemsize)
    meta = {"format": "troth-csr", "version": 1, "n": 1, "m": entries // 2, "weights": "uint8"}
    (tmp_path / "meta.json").write_text(json.dumps(meta))
    found = open_csr(tmp_path, mode="c")
    assert len(found.indices) == entries
    assert found.indices[-1] == 0


def test_arrays_that_cannot_be_written_to_give_the_same_mates(tmp_path):
    path = tmp_path / "graph.csr"
    write_graph(troth.generate("grid", rows=30, cols=30), path)
    graph = troth.as_graph(Matrix(shared_matrix(*open_csr(path, mode="r")[:3])))
    assert not graph.indices.flags.writeable
    found, usual = (troth.match(each, threads=2) for each in (graph, troth.read(path)))
    assert np.array_equal(found.mate, usual.mate)
    assert found.weight == usual.weight
