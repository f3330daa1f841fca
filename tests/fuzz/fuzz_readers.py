"""Fuzz the readers: damaged files must give a sound graph or a refusal in one line, and nothing else.

Seeds are small files of every format, made here, and the parser cases of the test data where they are. Each round
damages one (bytes, lines, numbers, splices, cuts) and reads it. The first finding is printed and saved, and ends the
run with exit code 1; make a test of it. Should the process itself die, the file that it was reading is in the folder
of ``--save`` all the same.

    python tests/fuzz/fuzz_readers.py --seconds 60 --seed 0
"""

from __future__ import annotations

import argparse
import faulthandler
import gzip
import io
import os
import random
import re
import shutil
import sys
import time
import traceback
import zipfile
from pathlib import Path

import numpy as np
import scipy.sparse

from troth.api.opening import as_graph, read, write
from troth.errors import TrothError
from troth.graph import Graph

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / os.environ.get("TROTH_DATA", "../shared/data")
SUFFIXES = (".mtx", ".graph", ".npz", ".csr", ".csv", ".tsv", ".txt", ".parquet")
TEXTS = {
    ".mtx": (
        b"%%MatrixMarket matrix array real symmetric\n2 2\n1\n2\n3\n",
        b"%%MatrixMarket matrix coordinate integer skew-symmetric\n% note\n3 3 2\n2 1 5\n3 2 -7\n",
        b"%%MatrixMarket matrix coordinate pattern general\r\n3 3 2\r\n2 1\r\n1 2\r\n",
    ),
    ".graph": (b"% note\n3 2 111 2\n1 7 8 2 5\n1 7 8 1 5 3 0.5\n1 7 8 2 0.5\n", b"5 2\n2\n1 3\n2\n\n\n"),
    ".csv": (b'"from","to","w"\n"a, b","c",1.5\nc,"d ""e""",2\n', b"# note\n3 7 0.1\n7 9 1e-5\n9 3 nan\n"),
    ".tsv": ("source\ttarget\tday\tweight\nNew York\tSão Paulo\t1\t2\n".encode(),),
}
OPTIONS = (
    {},
    {"weights": "abs", "symmetrize": "max"},
    {"weights": "random", "symmetrize": "mean"},
    {"weights": "unit"},
)
NUMBERS = (b"0", b"-1", b"1", b"2", b"1.5", b"1e999", b"nan", b"inf", b"4294967296", b"99999999999999999999", b"", b"x")
ROOM = 2**30  # bytes of memory for what a damaged header may ask


Content = bytes | dict[str, bytes]  # of a file, or of the files of a folder


def seeds(folder: Path) -> dict[str, list[Content]]:
    """Contents by suffix."""
    found: dict[str, list] = {suffix: list(TEXTS.get(suffix, ())) for suffix in SUFFIXES}
    row, col = np.array([0, 1, 2, 3, 0]), np.array([1, 2, 3, 0, 2])
    for weight in (np.arange(1, 6), np.arange(1, 6) / 7, np.arange(1, 6, dtype=np.float32)):
        for suffix in SUFFIXES:
            path = folder / f"seed{suffix}"
            write(as_graph((row, col, weight)), path)
            found[suffix].append(content_of(path))
    for form in ("csc", "coo", "bsr", "dia"):
        scipy.sparse.save_npz(folder / "seed.npz", as_graph((row, col, row + 1)).to_scipy().asformat(form))
        found[".npz"].append(content_of(folder / "seed.npz"))
    for kind in ("mtx", "metis"):
        for path in sorted((DATA / "parser" / kind).glob("*.*")):
            if path.stat().st_size < 10_000:
                found[path.suffix].append(path.read_bytes())
    for suffix in (".mtx", ".graph", ".csv"):
        found[suffix + ".gz"] = [gzip.compress(content, mtime=0) for content in found[suffix]]
    return found


def content_of(path: Path) -> Content:
    return {file.name: file.read_bytes() for file in path.iterdir()} if path.is_dir() else path.read_bytes()


def damage(content: bytes, other: bytes, rng: random.Random) -> bytes:
    """One to four random changes; ``other`` is another seed to take pieces from."""
    for _ in range(rng.randint(1, 4)):
        data = bytearray(content)
        at, length = rng.randint(0, len(data)), rng.randint(1, 16)
        kind = rng.randrange(7)
        if kind == 0 and data:
            data[min(at, len(data) - 1)] ^= 1 << rng.randrange(8)
        elif kind == 1:
            del data[at:]
        elif kind == 2:
            del data[at : at + length]
        elif kind == 3:
            start = rng.randint(0, len(other))
            data[at:at] = other[start : start + length]
        elif kind == 4:
            lines = bytes(data).split(b"\n")
            line = rng.randrange(len(lines))
            lines[line:line] = [lines[line]] * rng.randint(1, 3)
            data = bytearray(b"\n".join(lines))
        elif kind == 5:
            data[at : at + length] = rng.randbytes(length)
        else:
            places = list(re.finditer(rb"[0-9.]+", data))
            if places:
                place = rng.choice(places)
                data[slice(*place.span())] = rng.choice((*NUMBERS, str(rng.randint(-9, 99)).encode()))
        content = bytes(data)
    return content


def mutate(suffix: str, pool: list, rng: random.Random) -> Content:
    content, other = rng.choice(pool), rng.choice(pool)
    if isinstance(content, dict):
        name = rng.choice(sorted(content))
        return {**content, name: damage(content[name], other.get(name, b""), rng)}
    if suffix == ".npz" and rng.random() < 0.7:
        members, others = unzip(content), unzip(other)
        name = rng.choice(sorted(members))
        return zip_up({**members, name: damage(members[name], others.get(name, b""), rng)})
    if suffix.endswith(".gz") and rng.random() < 0.7:
        return gzip.compress(damage(gzip.decompress(content), gzip.decompress(other), rng), compresslevel=1, mtime=0)
    return damage(content, other, rng)


def unzip(content: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def zip_up(members: dict[str, bytes]) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return stream.getvalue()


def put(path: Path, content: Content) -> None:
    if isinstance(content, bytes):
        path.write_bytes(content)
        return
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir()
    for name, data in content.items():
        (path / name).write_bytes(data)


def finding(path: Path, options: dict) -> str | None:
    """What is wrong with how ``path`` is read; None where all is well."""
    try:
        graph = read(path, **options)
    except TrothError as error:
        return None if str(error).isprintable() else f"the message is not one line: {str(error)!r}"
    except Exception:
        return traceback.format_exc()
    return unsound(graph)


def unsound(graph: Graph) -> str | None:
    """Which promise of ``Graph`` is broken, if any."""
    n, indptr, indices, weights = graph.n, graph.indptr, graph.indices, graph.weights
    if (indptr.dtype, indices.dtype) != (np.int64, np.int32) or indptr[0] != 0 or indptr[-1] != len(indices):
        return "the arrays are not CSR"
    row = np.repeat(np.arange(n), np.diff(indptr))
    key = row * n + indices
    if (np.diff(key) <= 0).any() or (row == indices).any() or ((indices < 0) | (indices >= n)).any():
        return "rows are not sorted, repeat a neighbour, hold a loop or leave the range"
    if not (weights > 0).all() or not np.isfinite(weights).all():
        return "a weight is not positive and finite"
    mirrored = indices * np.int64(n) + row
    order = np.argsort(mirrored)
    if (mirrored[order] != key).any() or (weights[order] != weights).any():
        return "the two directions of an edge differ"
    return None


def limit_memory() -> None:
    """Make a damaged header that asks for too much memory fail at once (where the system can)."""
    try:
        import resource

        pages = int(Path("/proc/self/statm").read_text().split()[0])
        limit = pages * resource.getpagesize() + ROOM
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    except (ImportError, OSError, ValueError):
        print("memory is not limited here")


def fuzz(seconds: float, seed: int, folder: Path) -> int:
    """Read damaged files until the time is over or one misbehaves; returns the number of findings, 0 or 1."""
    rng = random.Random(seed)
    pools = seeds(folder)
    for suffix, pool in pools.items():  # compiles the kernels, and the seeds must pass too
        put(folder / f"seed{suffix}", pool[-1])
        assert finding(folder / f"seed{suffix}", OPTIONS[1]) is None
    limit_memory()
    rounds, slowest, start = 0, (0.0, ""), time.monotonic()
    while (now := time.monotonic()) < start + seconds:
        suffix, options = rng.choice(sorted(pools)), rng.choice(OPTIONS)
        path = folder / f"input{suffix}"
        put(path, mutate(suffix, pools[suffix], rng))
        wrong = finding(path, options)
        rounds += 1
        slowest = max(slowest, (time.monotonic() - now, f"round {rounds}, {suffix}"))
        if wrong:
            print(f"seed {seed}, round {rounds}: read({path.name!r}, **{options})\n{wrong}\nsaved as {path}")
            print(content_of(path))
            return 1
    print(f"{rounds} damaged files of {len(pools)} formats, no finding; slowest {slowest[0]:.2f} s ({slowest[1]})")
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description="Damage files and read them.")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--save", type=Path, default=Path("fuzz-findings"), help="folder for what fails")
    arguments = parser.parse_args()
    faulthandler.enable()
    folder = arguments.save / f"seed-{arguments.seed}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    findings = fuzz(arguments.seconds, arguments.seed, folder)
    if not findings:
        shutil.rmtree(folder)
        if not any(arguments.save.iterdir()):
            arguments.save.rmdir()
    return findings


if __name__ == "__main__":
    sys.exit(main())
