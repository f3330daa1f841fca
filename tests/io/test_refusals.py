"""Malformed inputs: one line that names the file, the place and the reason, and nothing else."""

from __future__ import annotations

import gzip
import os
import pickle
import re
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse
from corpus import build

from troth.api.opening import read, write
from troth.errors import TrothError
from troth.io import read_mates

BANNER = "%%MatrixMarket matrix coordinate real general\n"
RUBBISH = bytes(range(256)) * 8

MTX = {
    "empty": ("", "empty"),
    "banner": ("%%MatrixMarket matrix coordinate real\n1 1 0\n", "line 1: not a banner"),
    "array of pattern": (
        "%%MatrixMarket matrix array pattern general\n1 1\n1\n",
        "line 1: a pattern cannot be an array",
    ),
    "hermitian": ("%%MatrixMarket matrix coordinate real hermitian\n2 2 1\n2 1 1\n", "line 1: 'hermitian'"),
    "complex": ("%%MatrixMarket matrix coordinate complex general\n1 1 1\n1 1 1 2\n", "line 1: complex"),
    "size line": (BANNER + "% note\n\n2 2\n", "line 4: the size line"),
    "size beyond 64 bits": (BANNER + "2 2 99999999999999999999\n", "line 2: the sizes must fit"),
    "array without rows": ("%%MatrixMarket matrix array real general\n0 2\n1\n", "0 x 2, not square"),
    "symmetric array": ("%%MatrixMarket matrix array real symmetric\n1 40\n" + "1\n" * 99, "1 x 40, not square"),
    "negative size": (BANNER + "2 2 -1\n", "line 2: the size line"),
    "truncated": (BANNER + "2 2 2\n1 2 1.5\n", "Truncated"),
    # In these, SciPy alone takes what it can read of a line, or reads on past the end.
    "values of a triangle side by side": (
        "%%MatrixMarket matrix array real symmetric\n2 2\n0 4\n0\n",
        "line 3: '0 4' is not 'value'",
    ),
    "a triangle that ends early": (
        "%%MatrixMarket matrix array real symmetric\n3 3\n0\n4\n",
        "2 lines of values, but a symmetric array of 3 rows has 6",
    ),
    "half a triangle below the diagonal": (
        "%%MatrixMarket matrix array integer skew-symmetric\n3 3\n4\n5\n",
        "2 lines of values, but a skew-symmetric array of 3 rows has 3",
    ),
    "truncated within a line": (BANNER + "2 2 2\n1 2 1.5{x", "line 3: '1 2 1.5{x' is not 'row column value'"),
    "zero bytes": (BANNER + "2 2 1\n1 2 1\0 5\n", r"line 3: '1 2 1\\x00 5' is not"),
    "zero bytes in a comment": (BANNER + "%\0\n2 2 1\n1 2 1\n", "zero bytes"),
    **{
        f"value {text}": (
            BANNER + f"2 2 2\n\n1 2 1\n2 1 {text}\n",
            f"line 5: '2 1 {re.escape(text)}' is not .* decimal",
        )
        for text in (
            "+1",
            "1.0D+03",
            "1,5",
            "0x10",
            "1_0",
            "1e",
            "1e+",
            "1.2.3",
            "1-5",
            "-",
            ".",
            "1 7",
            "1 % note",
            "nan0",
        )
    },
    **{
        f"integer {text}": (BANNER.replace("real", "integer") + f"2 2 1\n2 1 {text}\n", f"'2 1 {text}' is not .* whole")
        for text in ("1.9", "1e3", "1 7")
    },
    "pattern with values": (BANNER.replace("real", "pattern") + "2 2 1\n2 1 7\n", "'2 1 7' is not 'row column', all"),
    "array of text": ("%%MatrixMarket matrix array real general\n1 1\n1,5\n", "line 3: '1,5' is not 'value'"),
    "too many entries": (BANNER + "2 2 1\n1 2 1.5\n2 1 1.5\n", "Too many"),
    "index too large": (BANNER + "2 2 1\n1 3 1.5\n", "line 3: Column index"),
    "index zero": (BANNER + "2 2 1\n0 1 1.5\n", "line 3: Row index"),
    "no value": (BANNER + "2 2 1\n1 2\n", "line 3: "),
    "text value": (BANNER + "2 2 1\n1 2 x\n", "line 3: "),
    "NaN": (BANNER + "2 2 2\n1 2 nan\n2 1 nan\n", r"\(1, 2\) is nan"),
    "infinity": (BANNER + "2 2 2\n1 2 inf\n2 1 inf\n", r"\(1, 2\) is inf"),
    "asymmetric": (BANNER + "2 2 1\n1 2 1.5\n", r"\(1, 2\) is 1.5 but \(2, 1\) is missing; choose symmetrize"),
    "rectangular": (BANNER + "2 3 1\n1 2 1.5\n", "2 x 3, not square"),
    "Laplacian": (BANNER + "2 2 4\n1 1 1\n1 2 -1\n2 1 -1\n2 2 1\n", 'weights="abs"'),
}

METIS = {
    "only comments": ("% nothing\n", "no header"),
    "header of text": ("% note\nthree 2\n", "line 2: the header"),
    "header too short": ("3\n", "line 1: the header"),
    "negative header": ("3 -2\n", "line 1: the header"),
    "fmt": ("3 2 7\n", "line 1: fmt is 7"),
    "too many vertices": ("3000000000 0\n", "line 1: more than"),
    "truncated": ("3 2\n2\n1 3\n", "4 neighbours, but the lines hold 3"),
    "too many edges": ("2 1\n2 2\n1\n", "2 neighbours, but the lines hold 3"),
    "too many lines": ("2 1\n2\n1\n\n1\n", "line 5: '1' stands after the line of vertex 2"),
    "neighbour too large": ("2 1\n2\n3\n", "line 3: '3' is not a neighbour"),
    "neighbour zero": ("2 1\n0\n1\n", "line 2: '0' is not a neighbour"),
    "neighbour of text": ("2 1\n2\n%\nx\n", "line 4: 'x' is not a neighbour"),
    "neighbour with a point": ("2 1\n2.0\n1\n", "line 2: '2.0' is not a neighbour"),
    "weight missing": ("2 1 1\n2 5\n1\n", "line 3: neighbours and weights do not pair up"),
    "weight of text": ("2 1 1\n2 five\n1 5\n", "line 2: 'five' is not a number"),
    "weight beyond 64 bits": (
        "2 1 1\n2 9223372036854775808\n1 5\n",
        "line 2: '9223372036854775808' is an integer beyond",
    ),
    "weight NaN": ("2 1 1\n2 nan\n1 nan\n", "is nan"),
    "vertex weight missing": ("2 1 10\n3 2\n\n", "line 3: the line of a vertex must start with 1"),
    "vertex weight negative": ("2 1 10\n3 2\n-3 1\n", "line 3: '-3' is not a vertex weight"),
    "asymmetric": ("3 1\n2\n3\n\n", r"\(1, 2\) is 1 but \(2, 1\) is missing"),
}

TABLES = {
    "only comments": ("# nothing\n", "no rows"),
    "one column": ("1\n2\n", "one column"),
    "uneven": ("0 1 2\n# note\n1 2\n", "line 3: 2 cells, but the first row has 3"),
    "four columns": ("0,1,2,3\n1,2,3,4\n", "4 columns"),
    "control characters in a header": (
        "a\x7f,b\x1b,c,d\n1,2,3,4\n",
        r"columns 'a\\x7f', 'b\\x1b', 'c', 'd' are not named",
    ),
    "columns of features": (
        "age,income,score\n63,25000,1.5\n",
        "are not named as edges are .* or --columns age,income,score; .* call troth.pair_rows",
    ),
    "which weight": ("source,target,day,hour\n0,1,2,3\n", "which of 'day', 'hour' is the weight"),
    "no name of a weight": ("source,target,day\n0,1,2\n", "is 'day' the weight.* --columns source,target,day"),
    "a name with a blank": ("source,target,my day\n0,1,2\n", "--columns 'source,target,my day', or the two ends alone"),
    "a name with a control character": (
        "source,target,my\x1fday\n0,1,2\n",
        r"columns=\('source', 'target', 'my\\x1fday'\), or the two ends alone",
    ),
    "two weights": ("source,target,weight,score\n0,1,2,3\n", "which of 'weight', 'score' is the weight"),
    "weight of text": ("source,target,weight\n0,1,2\n\n1,2,heavy\n", "line 4: 'heavy' is not a number"),
    "weight missing": ("0,1,2\n1,2,\n", "line 2: 2 cells"),
    "empty name": ("0,,1\n1,2,2\n", "edge 0 lacks the name"),
    "weight beyond 64 bits": (
        "0 1 99999999999999999999\n",
        "line 1: '99999999999999999999' is an integer beyond 64 bits",
    ),
    "NaN": ("0,1,nan\n", "weight nan"),
    "infinity": ("0,1,-inf\n", "weight -inf"),
    "NaN between ids": ("10,20,nan\n", r"edge 0 \(10, 20\) has weight nan"),
    "negative id": ("0 -1 1.0\n", "names vertex -1; ids start at 0"),
    "fractional id": ("0 0.5 1.0\n", "names vertex 0.5; ids are whole numbers or text"),
    "names that are not UTF-8": (b"a,b\nb,\xff\n", "not UTF-8"),
    "zero bytes": (b"a,b\nb,\x00c\n", "zero bytes"),
    "no positive weight": ("0 1 -2\n1 2 0\n", 'weights="abs"'),
}


def refusal(path: Path, **options) -> str:
    with pytest.raises(TrothError) as caught:
        read(path, **options)
    message = str(caught.value)
    assert message.startswith(str(path))
    assert message.isprintable()
    return message


def put(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


@pytest.mark.parametrize(
    ("suffix", "case"), [(".mtx", c) for c in MTX] + [(".graph", c) for c in METIS] + [(".csv", c) for c in TABLES]
)
def test_malformed_text(suffix, case, tmp_path):
    content, reason = {".mtx": MTX, ".graph": METIS, ".csv": TABLES}[suffix][case]
    assert re.search(reason, refusal(put(tmp_path / f"case{suffix}", content)))


def test_table_options(tmp_path):
    path = put(tmp_path / "case.csv", "0 1 2.0\n1 2 3.0\n")
    assert "ids start at 1" in refusal(path, base=1)
    for content in ("01 2\n2 3\n", "a b\nb c\n"):
        assert "base=1 is for numbers, but the ids are text" in refusal(put(tmp_path / "text.csv", content), base=1)
    assert "no header" in refusal(path, columns=("source", "target"))
    named = put(tmp_path / "named.csv", "a,b,c\n0,1,2\n")
    assert "'weight' is not there" in refusal(named, columns=("a", "b", "weight"))
    for columns in (("a",), ("a", "a"), "ab", iter("ab"), {"a", "b"}, 7, np.int64(7)):
        with pytest.raises(TrothError, match="two or three different names"):
            read(named, columns=columns)
    assert """column "['a']" is not there""" in refusal(named, columns=(["a"], "b"))
    matrix = put(tmp_path / "case.mtx", BANNER + "1 1 0\n")
    assert "for tables" in refusal(matrix, base=1)


@pytest.mark.parametrize("suffix", [".mtx", ".graph", ".npz", ".csv", ".parquet", ".mtx.gz", ".graph.gz", ".csv.gz"])
def test_rubbish_and_emptiness(suffix, tmp_path):
    refusal(put(tmp_path / f"rubbish{suffix}", RUBBISH))
    assert "empty" in refusal(put(tmp_path / f"empty{suffix}", b""))
    assert "no such file" in refusal(tmp_path / f"absent{suffix}")
    (tmp_path / f"folder{suffix}").mkdir()
    assert "a folder" in refusal(tmp_path / f"folder{suffix}")


@pytest.mark.parametrize("name", ["graph", "graph.xyz", "graph.gz", "graph.npz.gz", "graph.mtx.bz2", ".csv"])
def test_unknown_extension(name, tmp_path):
    assert "unknown extension" in refusal(put(tmp_path / name, "0 1\n"))
    with pytest.raises(TrothError, match="unknown extension"):
        write(build([(0, 1, 2)]), tmp_path / name)


@pytest.mark.parametrize("suffix", [".mtx.gz", ".graph.gz", ".csv.gz"])
def test_truncated_gzip(suffix, tmp_path):
    path = tmp_path / f"graph{suffix}"
    rng = np.random.default_rng(0)
    write(build([(u, u + 1, float(rng.random())) for u in range(2000)], dtype=float), path)
    whole = path.read_bytes()
    for length in (5, len(whole) // 2, len(whole) - 9, len(whole) - 1):
        refusal(put(path, whole[:length]))
    corrupt = bytearray(whole)
    corrupt[len(whole) // 2] ^= 0x55
    refusal(put(path, bytes(corrupt)))


@pytest.mark.parametrize("suffix", [".npz", ".parquet"])
def test_truncated_binary(suffix, tmp_path):
    path = tmp_path / f"graph{suffix}"
    write(build([(u, u + 1, u + 1) for u in range(500)]), path)
    whole = path.read_bytes()
    for length in (1, len(whole) // 2, len(whole) - 1):
        refusal(put(path, whole[:length]))


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read every file")
def test_unreadable(tmp_path):
    path = put(tmp_path / "graph.csv", "0 1\n")
    path.chmod(0)
    assert "Permission denied" in refusal(path)


class Bomb:
    """Unpickling this makes a file."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return (Path.touch, (self.path,))


def test_pickles_are_never_loaded(tmp_path):
    bomb, trace = np.array([Bomb(tmp_path / "trace")], object), tmp_path / "trace"
    np.savez(
        tmp_path / "graph.npz", format=b"csr", shape=(1, 1), data=bomb, indices=[0], indptr=[0, 1], allow_pickle=True
    )
    assert "pickle" in refusal(tmp_path / "graph.npz")
    write(build([(0, 1, 2)]), tmp_path / "graph.csr")
    np.save(tmp_path / "graph.csr" / "weights.npy", bomb, allow_pickle=True)
    with pytest.raises(TrothError, match=r"weights.npy: .*(pickle|object)"):
        read(tmp_path / "graph.csr")
    put(tmp_path / "plain.npz", pickle.dumps(bomb))
    refusal(tmp_path / "plain.npz")
    assert not trace.exists()
    pickle.loads(pickle.dumps(bomb))
    assert trace.exists()  # the trap works


def test_npz_of_other_things(tmp_path):
    np.savez(tmp_path / "arrays.npz", a=np.arange(3))
    assert "holds no sparse matrix" in refusal(tmp_path / "arrays.npz")
    np.save(tmp_path / "array.npy", np.arange(3))
    for content in ((tmp_path / "array.npy").read_bytes(), RUBBISH):
        assert "not a whole .npz file" in refusal(put(tmp_path / "renamed.npz", content))
    complex_matrix = scipy.sparse.csr_array(np.array([[0, 1j], [1j, 0]]))
    scipy.sparse.save_npz(tmp_path / "complex.npz", complex_matrix)
    assert "complex" in refusal(tmp_path / "complex.npz")
    scipy.sparse.save_npz(tmp_path / "wide.npz", scipy.sparse.csr_array((2, 3)))
    assert "2 x 3, not square" in refusal(tmp_path / "wide.npz")


@pytest.mark.parametrize("form", ["csr", "csc", "bsr", "coo"])
def test_npz_with_indices_out_of_range(form, tmp_path):
    path = tmp_path / "graph.npz"
    scipy.sparse.save_npz(path, build([(0, 1, 2), (1, 2, 3)]).to_scipy().asformat(form), compressed=False)
    arrays = dict(np.load(path))
    name = "coords" if form == "coo" else "indices"
    name = "row" if name not in arrays else name
    arrays[name] = np.where(arrays[name] == arrays[name].max(), 10**6, arrays[name]).astype(arrays[name].dtype)
    np.savez(path, **arrays)
    refusal(path)


@pytest.mark.parametrize("form", ["csr", "csc", "bsr"])
def test_npz_with_an_indptr_that_wraps_around(form, tmp_path):
    path = tmp_path / "graph.npz"
    indptr = np.array([0, 2, 4, 4 + 2**63 - 1 - 2**64])  # each difference is positive modulo 2^64
    data = np.ones((4, 1, 1) if form == "bsr" else 4)
    np.savez(path, format=form.encode(), shape=(3, 3), data=data, indices=np.array([1, 2, 0, 2]), indptr=indptr)
    assert "rising" in refusal(path, weights="random")


CSR = {
    "no meta": ("meta.json", None, "no meta.json; a .csr graph holds"),
    "meta is no JSON": ("meta.json", b"{", "meta.json: "),
    "meta of another format": ("meta.json", b'{"format": "other", "version": 1}', "meta.json: not a graph"),
    "meta of another version": ("meta.json", b'{"format": "troth-csr", "version": 3, "n": 3, "m": 2}', "not a graph"),
    "meta without counts": ("meta.json", b'{"format": "troth-csr", "version": 1, "n": "3", "m": 2}', "n and m"),
    "no indices": ("indices.npy", None, "indices.npy: No such file"),
    "indices are rubbish": ("indices.npy", RUBBISH, "indices.npy: "),
    "weights of another type": ("weights.npy", np.ones(4, np.int16), "weights.npy: holds int16"),
    "indices of another type": ("indices.npy", np.zeros(4), "indices.npy: holds float64"),
    "too few indices": ("indices.npy", np.zeros(3, np.int32), "indices.npy: holds int32 of shape (3,)"),
    "flat where columns are": ("weights.npy", np.ones((4, 1)), "weights.npy: holds float64 of shape (4, 1)"),
    "indptr does not end at 2 m": ("indptr.npy", np.array([0, 1, 3, 5]), "indptr.npy runs from 0 to 5"),
    "indptr falls": ("indptr.npy", np.array([0, 3, 1, 4]), "rising"),
    "index out of range": ("indices.npy", np.array([1, 0, 2, 10**6], np.int32), "outside 0..2"),
    "index negative": ("indices.npy", np.array([1, 0, 2, -1], np.int32), "outside 0..2"),
    "vertex weights too short": ("vertex_weights.npy", np.ones(2), "vertex_weights.npy: holds float64 of shape (2,)"),
    "vertex weights of text": ("vertex_weights.npy", np.array(["a", "b", "c"]), "meta.json says 3 of numbers"),
    "vertex weight NaN": ("vertex_weights.npy", np.array([1, np.nan, 3]), "vertex 1 weighs nan"),
    "vertex weight negative": ("vertex_weights.npy", np.array([[1, 2], [3, 4], [5, -6]]), "vertex 2 weighs [ 5 -6]"),
    "ids in columns": ("ids.npy", np.zeros((3, 2), int), "ids.npy: holds int64 of shape (3, 2)"),
    "an id twice": ("ids.npy", np.array(["b", "a", "b"]), "two vertices have the same id"),
    "NaN": ("weights.npy", np.array([1.0, 1.0, np.nan, np.nan]), "is nan"),
    "asymmetric": ("weights.npy", np.array([1.0, 2.0, 3.0, 3.0]), "choose symmetrize"),
}


@pytest.mark.parametrize("case", CSR)
def test_malformed_csr(case, tmp_path):
    name, content, reason = CSR[case]
    path = tmp_path / "graph.csr"
    write(build([(0, 1, 1.0), (1, 2, 3.0)], dtype=float), path)
    if content is None:
        (path / name).unlink()
    elif isinstance(content, bytes):
        (path / name).write_bytes(content)
    else:
        np.save(path / name, content)
    assert reason in refusal(path)


def test_csr_that_is_a_file(tmp_path):
    assert "not a folder" in refusal(put(tmp_path / "graph.csr", "0 1\n"))


MATES = {
    "text": ("0\nx\n", "line 2: 'x'"),
    "two in a line": ("1 0\n", "line 1: "),
    "beyond n": ("1\n2\n", "line 2: '2'"),
}


@pytest.mark.parametrize("case", [*MATES, "below -1"])
def test_malformed_mates(case, tmp_path):
    content, reason = MATES.get(case, ("-1\n-2\n", "line 2: '-2'"))
    with pytest.raises(TrothError, match=reason):
        read_mates(put(tmp_path / "mates.txt", content))


def test_absent_mates(tmp_path):
    with pytest.raises(TrothError, match="No such file"):
        read_mates(tmp_path / "mates.txt")


def test_gzip_under_a_plain_name(tmp_path):
    assert read(put(tmp_path / "graph.mtx", gzip.compress(f"{BANNER}5 5 0\n".encode()))).n == 5
