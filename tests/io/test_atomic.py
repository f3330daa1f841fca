"""Writing happens whole or not at all."""

from __future__ import annotations

import pytest
from corpus import build

from troth.api.opening import read, write
from troth.errors import TrothError
from troth.io import atomic_path, write_mates

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
