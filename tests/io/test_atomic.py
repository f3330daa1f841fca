"""Writing happens whole or not at all."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from corpus import build

import troth
from troth.api.opening import read, write
from troth.errors import TrothError
from troth.io import atomic, atomic_path, csr, write_mates

SUFFIXES = (".mtx", ".mtx.gz", ".graph", ".npz", ".csr", ".csv", ".parquet")


def test_failure_leaves_the_old_file_and_nothing_else(tmp_path):
    target = tmp_path / "answer.txt"
    target.write_text("old")

    def write_half() -> None:
        with atomic_path(target) as temporary:
            temporary.write_text("half of the n")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        write_half()
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


@pytest.mark.parametrize("name", ["a", "a.b", "a.tar.gz", ".hidden", ".hidden.csv"])
def test_the_temporary_name_keeps_the_extension(name, tmp_path):
    with atomic_path(tmp_path / name) as temporary:
        assert temporary.parent == tmp_path
        assert temporary.name != name
        assert name in ("a", ".hidden") or temporary.name.endswith(name.lstrip(".").partition(".")[2])
        temporary.write_text("new")
    assert (tmp_path / name).read_text() == "new"
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_writing_replaces(suffix, tmp_path):
    path = tmp_path / f"graph{suffix}"
    write(build([(0, 1, 2)]), path)
    write(build([(0, 1, 2), (1, 2, 3)]), path)
    assert read(path).m == 2
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_writer_that_fails_leaves_nothing(suffix, tmp_path):
    path = tmp_path / f"graph{suffix}"
    broken = build([(0, 1, 2)])
    object.__setattr__(broken, "weights", None)
    with pytest.raises((TypeError, AttributeError, ValueError, TrothError)):
        write(broken, path)
    assert list(tmp_path.iterdir()) == []


def test_a_link_stays_and_what_it_leads_to_is_replaced(tmp_path):
    data, link = tmp_path / "data", tmp_path / "link.csv"
    data.mkdir()
    real = data / "real.bin"
    real.write_text("old")
    real.chmod(0o640)
    link.symlink_to(real)
    write(build([(0, 1, 2)]), link)
    assert link.is_symlink()
    assert read(link).m == 1
    assert real.stat().st_mode & 0o777 == 0o640
    assert list(data.iterdir()) == [real]


@pytest.mark.parametrize("meta", [None, b"{}", "graph"])
def test_folders_are_not_overwritten_by_accident(meta, tmp_path):
    mine = tmp_path / "mine.csr"
    if meta == "graph":
        write(build([(0, 1, 2)]), mine)
    else:
        mine.mkdir()
    if meta == b"{}":
        (mine / "meta.json").write_bytes(meta)
    (mine / "diary.txt").write_text("dear")
    (mine / ".DS_Store").touch()
    with pytest.raises(TrothError, match=r"alone \('diary\.txt' is" if meta == "graph" else "graph alone;"):
        write(build([(0, 1, 2)]), mine)
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(TrothError, match="irectory"):
        write(build([(0, 1, 2)]), tmp_path / "folder.csv")
    assert (mine / "diary.txt").read_text() == "dear"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder.csv", "mine.csr"]


def test_a_graph_folder_is_replaced_with_the_hidden_files_of_the_system(tmp_path):
    mine = tmp_path / "mine.csr"
    write(build([(0, 1, 2)]), mine)
    (mine / ".DS_Store").touch()
    write(build([(0, 1, 2), (1, 2, 3)]), mine)
    assert read(mine).m == 2
    assert not (mine / ".DS_Store").exists()


def test_absent_folder(tmp_path):
    with pytest.raises(TrothError, match="No such file") as caught:
        write_mates([0], tmp_path / "nowhere" / "mates.txt")
    assert str(caught.value).startswith(str(tmp_path / "nowhere" / "mates.txt"))


# ---- several processes at one folder ----

VERSIONS = [build([(v, v + 1, n) for v in range(n)]) for n in (2, 300, 40)]


def write_often(path: Path, first: int) -> None:
    for turn in range(60):
        write(VERSIONS[(first + turn) % len(VERSIONS)], path)


def read_often(path: Path, _: int) -> None:
    for _ in range(150):
        found = csr.open_csr(path)
        assert (len(found.indptr), found.weights.tolist()) == (
            found.meta["m"] + 2,
            [found.meta["m"]] * len(found.indices),
        )


def test_a_folder_that_is_replaced_and_read_at_the_same_time(tmp_path):
    """Every writer succeeds, every reader has the arrays of one graph, and nothing else is left."""
    path = tmp_path / "graph.csr"
    write(VERSIONS[0], path)
    if not atomic._exchange(path, tmp_path / "graph.csr"):
        pytest.skip("this system cannot exchange two folders in one step")
    with ThreadPoolExecutor(5) as pool:
        jobs = [pool.submit(work, path, k) for k, work in enumerate((write_often, read_often, write_often, read_often))]
    for job in jobs:
        job.result()
    assert read(path).m in (2, 40, 300)
    assert list(tmp_path.iterdir()) == [path]


def test_several_writers_where_folders_cannot_be_exchanged(tmp_path, monkeypatch):
    monkeypatch.setattr(atomic, "_renameat2", lambda: None)
    path = tmp_path / "graph.csr"
    with ThreadPoolExecutor(3) as pool:
        jobs = [pool.submit(write_often, path, k) for k in range(3)]
    for job in jobs:
        job.result()
    assert read(path).m in (2, 40, 300)
    assert list(tmp_path.iterdir()) == [path]


def test_arrays_of_two_graphs_are_never_mixed(tmp_path, monkeypatch):
    """The folder is replaced between the first and the second array; what was mapped stays."""
    path, load = tmp_path / "graph.csr", np.load
    write(VERSIONS[1], path)
    old = csr.open_csr(path)

    def replace_first(where, **options):
        if Path(where).name == "indices.npy" and read_before.pop("first", None):
            write(VERSIONS[2], path)
        return load(where, **options)

    read_before = {"first": True}
    monkeypatch.setattr(np, "load", replace_first)
    found = csr.open_csr(path)
    assert (len(found.indptr), len(found.indices), set(found.weights.tolist())) == (42, 80, {40})
    assert set(old.weights.tolist()) == {300}


# ---- how a write may end ----


@pytest.mark.skipif(sys.platform == "win32", reason="signals end processes at once here")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("name", ["mates.txt", "graph.csr"])
def test_a_signal_that_ends_the_process_leaves_nothing(number, name, tmp_path):
    code = """
import signal, sys
from troth.io import atomic_path
with atomic_path(sys.argv[1]) as path:
    if path.suffix == ".csr":
        path.mkdir()
        path /= "indptr.npy"
    path.write_text("half of")
    signal.raise_signal(int(sys.argv[2]))
print("not reached")
"""
    words = [sys.executable, "-c", code, tmp_path / name, str(int(number))]
    paths = os.environ | {"PYTHONPATH": str(Path(troth.__file__).parents[1])}
    done = subprocess.run(words, env=paths, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (-number, "", "")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has other signals")
def test_signals_that_others_handle_stay_theirs(tmp_path):
    heard = []
    before = signal.signal(signal.SIGHUP, lambda *_: heard.append(1))
    try:
        with atomic_path(tmp_path / "answer.txt") as temporary:
            temporary.write_text("42")
            signal.raise_signal(signal.SIGHUP)
        assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
    finally:
        signal.signal(signal.SIGHUP, before)
    assert heard == [1]
    assert (tmp_path / "answer.txt").read_text() == "42"


@pytest.mark.parametrize("name", ["a" * 240 + ".mtx", "a." + "b" * 240 + ".csv.gz", "x" * 251 + ".csr", "ä" * 125])
def test_names_as_long_as_they_may_be(name, tmp_path):
    write_mates(np.array([1, 0]), tmp_path / name)
    if "." in name:
        os.unlink(tmp_path / name)
        write(build([(0, 1, 2)]), tmp_path / name)
        assert read(tmp_path / name).m == 1
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_names_that_are_too_long(tmp_path):
    for suffix in (".mtx", ".csr"):
        with pytest.raises(TrothError, match=rf"{'a' * 260}{suffix}: File name too long$"):
            write(build([(0, 1, 2)]), tmp_path / ("a" * 260 + suffix))


@pytest.mark.skipif(sys.platform == "win32", reason="files have no limit of size here")
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_full_disk(suffix, tmp_path):
    """A limit on the size of files stands for it: one line with the file and the system's reason."""
    import resource

    graph, before = build([(v, v + 1, v + 1) for v in range(9000)]), resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (5000, before[1]))
    try:
        with pytest.raises(TrothError, match=r"graph\S*: (.*\berrno 27\b.*)?File too large$"):
            write(graph, tmp_path / f"graph{suffix}")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert list(tmp_path.iterdir()) == []
