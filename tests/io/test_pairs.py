"""Pairs files: what is written is what is read, in the ids of the input; and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import troth
from troth.api.result import pair_columns
from troth.errors import TrothError
from troth.io import check_pairs, is_pairs_file, read_pairs, write_pairs

NAMES = ["pairs.csv", "pairs.tsv", "pairs.csv.gz", "pairs.parquet"]
PATH = "source,target,weight\n{0},{1},4\n{1},{2},9\n{2},{3},4.5\n"
IDS = {
    "numbers": [0, 1, 2, 3],
    "gaps": [7, 20, 35, 2**40],
    "text": ["ann", "bob", "cy", "dee"],
    "zeros in front": ["007", "01", "1", "2"],
    "marks": ["d, e", 'O""Neil', "x;y", "ß 猫"],
}


def matched(tmp_path, ids) -> troth.Matching:
    (tmp_path / "graph.csv").write_text(PATH.format(*(f'"{name}"' for name in ids)), encoding="utf-8")
    return troth.match(troth.read(tmp_path / "graph.csv"))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("ids", IDS.values(), ids=list(IDS))
def test_pairs_speak_the_ids_of_the_input(tmp_path, name, ids):
    if name.endswith(".parquet"):
        pytest.importorskip("pyarrow")
    m = matched(tmp_path, ids)
    path, text = tmp_path / name, isinstance(ids[0], str)
    check_pairs(path, m.graph.ids)
    write_pairs([pair_columns(m)], path)
    middle = [str(end).replace('""', '"') if text else end for end in ids[1:3]]
    assert sorted(read_pairs(path, text).tolist()[0]) == sorted(middle)
    assert troth.verify(m.graph, read_pairs(path, text)).ok
    assert sorted(entry.name for entry in tmp_path.iterdir()) == sorted(["graph.csv", name])


def test_the_text(tmp_path):
    write_pairs([pair_columns(matched(tmp_path, IDS["text"]))], tmp_path / "pairs.csv")
    assert (tmp_path / "pairs.csv").read_text() == "source,target,weight\nbob,cy,9.0\n"
    write_pairs([(np.array([0, 2]), np.array([1, 3]), np.array([5, 7]))] * 2, tmp_path / "pairs.tsv")
    assert (tmp_path / "pairs.tsv").read_text() == "source\ttarget\tweight\n" + "0\t1\t5\n2\t3\t7\n" * 2


@pytest.mark.parametrize("name", NAMES)
def test_no_pairs(tmp_path, name):
    if name.endswith(".parquet"):
        pytest.importorskip("pyarrow")
    for text in (False, True):
        ids = np.array([], str if text else np.int64)
        write_pairs([(ids, ids, np.array([], np.float64))], tmp_path / name)
        assert read_pairs(tmp_path / name, text).shape == (0, 2)


def test_the_extension_decides():
    names = {"a.csv": True, "a.TSV": True, "a.csv.gz": True, "a.parquet": True, "a.parquet.gz": False, "a.txt": False}
    assert {name: is_pairs_file(name) for name in names} == names
    assert not is_pairs_file("mates")


@pytest.mark.parametrize("name", ["a\nb", "", "a\0b"])
def test_ids_that_would_not_read_back(name):
    with pytest.raises(TrothError, match=r"pairs\.csv: id .* would not read back from it; write the mates to a \.txt"):
        check_pairs("pairs.csv", np.array([name, "x"], object))


def test_refusals(tmp_path):
    path = tmp_path / "pairs.csv"
    path.write_text("source,target\n0,x\n")
    with pytest.raises(TrothError, match=r"pairs\.csv, line 2: 'x' is not a number"):
        read_pairs(path)
    path.write_text("source,target\n0,1.5\n")
    with pytest.raises(TrothError, match="its ids are not whole numbers, but those of the graph are"):
        read_pairs(path)
    path.write_text("age,income\n0,1\n")
    with pytest.raises(TrothError, match="are not named as edges"):
        read_pairs(path)
    with pytest.raises(TrothError, match=r"absent\.csv: No such file"):
        read_pairs(tmp_path / "absent.csv")
