"""Bad usage and bad input: one line, exit code 2, nothing written."""

from __future__ import annotations

import os
import re
import sys

import pytest

from troth import arrays
from troth.ranks.job import RANK

MTX = "%%MatrixMarket matrix coordinate real general\n3 3 2\n1 2 3\n"  # promises two entries, has one

BAD = [
    # usage
    (["frobnicate"], "frobnicate"),
    (["--frobnicate"], "--frobnicate"),
    (["match"], "GRAPH"),
    (["match", "path:n=4", "spare"], "spare"),
    (["match", "path:n=4", "--frobnicate"], "--frobnicate"),
    (["match", "path:n=4", "-a", "blossom"], "'locally-dominant'"),
    (["match", "path:n=4", "--ties", "fair"], "'hash', 'low', 'high'"),
    (["match", "path:n=4", "--device", "abacus"], "device='abacus' is not known: choose auto, cpu"),
    (["match", "path:n=4", "-a", "suitr"], "(did you mean 'suitor'?)"),
    (["match", "path:n=4", "--ties", "hsah"], "(did you mean 'hash'?)"),
    (["match", "path:n=4", "--weights", "unti"], "(did you mean 'unit'?)"),
    (["match", "path:n=4", "--device", "gpu"], "device='gpu' is not known (did you mean 'cuda'?): choose auto, cpu"),
    (["match", "path:n=4", "--algoritm", "suitor"], "--algorithm"),
    (["mtch", "path:n=4"], "match"),
    (["match", "pth:n=4"], "'pth' is not a family (did you mean 'path'?)"),
    (["match", "rmat:scal=4"], "rmat has no parameter 'scal' (did you mean 'scale'?)"),
    (["match", "path:n=4", "-a", "greedy", "--device", "mpi"], "greedy has no engine on device='mpi': choose cpu"),
    (["match", "path:n=4", "--device", "cpu:1"], "the CPU is just 'cpu'"),
    (["match", "path:n=4", "--threads", "0"], "--threads"),
    (["match", "path:n=4", "--threads", "1000000"], "threads"),
    (["match", "path:n=4", "--seed", "many"], "--seed"),
    (["match", "path:n=4", "--weights", "heavy"], "'keep', 'abs', 'unit', 'random', 'paper'"),
    (["info", "path:n=4", "--symmetrize", "no"], "'max', 'min', 'sum', 'mean'"),
    (["info", "path:n=4", "--base", "2"], "--base"),
    (["strongest", "path:n=4", "--device", "abacus"], "device='abacus' is not known"),
    (["verify", "path:n=4"], "MATES"),
    (["verify", "path:n=4", "m.txt", "-a", "blossom"], "'suitor'"),
    (["generate", "path:n=4"], "--output"),
    (["convert", "path:n=4"], "FILE"),
    # options of engines
    (["match", "path:n=4", "-O", "presort"], "-O 'presort' is not name=value"),
    (["match", "path:n=4", "-O", "=1"], "-O '=1' is not name=value"),
    (["match", "path:n=4", "-O", "presort=1", "-O", "presort=0"], "-O presort is given twice"),
    (["match", "path:n=4", "-O", "presort=perhaps"], "presort='perhaps' is not accepted: give true or false"),
    (["match", "path:n=4", "-O", "threads=2"], "-O threads=2 is no option of an algorithm: say --threads 2"),
    (
        ["match", "path:n=4", "-O", "thread=2"],
        "suitor on cpu has no option 'thread' (did you mean 'threads'?): its opt",
    ),
    (["match", "path:n=4", "-O", "presrt=1"], "suitor on cpu has no option 'presrt' (did you mean 'presort'?)"),
    (["match", "path:n=4", "-O", "eps=1"], "suitor on cpu has no option 'eps' (auction has it)"),
    (["match", "path:n=4", "-a", "blue-red", "-O", "p=1"], "between 0 and 1"),
    (["match", "path:n=4", "-a", "auction", "-O", "eps=0"], "eps='0' is not accepted: give a number from 1e-06 to 1"),
    (["match", "path:n=4", "-a", "auction", "-O", "slack=-1"], "slack='-1' is not accepted: give a number"),
    (["match", "path:n=4", "-a", "auction", "-O", "rounds=0"], "rounds='0' is not accepted: give a whole number"),
    (["match", "path:n=4", "-a", "auction", "-O", "polish=few"], "polish='few' is not accepted: give a whole number"),
    (["match", "path:n=4", "-a", "auction", "-O", "target=2"], "target='2' is not accepted: give a number from 0 to 1"),
    (["match", "path:n=4", "--gpu-threads", "8"], "suitor on cpu takes no --gpu-threads: choose handshake on cuda"),
    (["match", "path:n=4", "-a", "handshake", "--device", "cpu", "--gpu-threads", "8"], "handshake on cpu takes no --"),
    (["match", "path:n=4", "-a", "handshake", "--gpu-threads", "0"], "--gpu-threads"),
    (["match", "path:n=4", "-a", "handshake", "--gpu-threads", "9999999999"], "a whole number from 1 to 2147483647"),
    (["match", "path:n=4", "-a", "handshake", "--gpu-threads", "8", "-O", "gpu_threads=9"], "say the same"),
    (["strongest", "path:n=4", "--device", "cpu", "--gpu-threads", "8"], "handshake on cpu takes no --gpu-threads"),
    (["strongest", "path:n=4", "--gpu-threads", "0"], "--gpu-threads"),
    # graphs
    (["match", "absent.mtx"], "absent.mtx: there is no such file"),
    (["match", "bad.mtx"], "bad.mtx"),
    (["match", "bad.mtx", "--json"], "bad.mtx"),
    (["match", "empty.csv"], "empty.csv: the file is empty"),
    (["match", "picture.png"], "picture.png: unknown extension"),
    (["match", "folder.mtx"], "folder.mtx"),
    (["match", "laplacian.csv"], 'weights="abs"'),
    (["match", "people.csv", "-o", "x.txt"], "people.csv: its columns 'age', 'income' are not named as edges"),
    (["match", "people.csv"], "or --columns age,income; to pair similar rows of a table, call troth.pair_rows"),
    (["match", "roads.csv"], "roads.csv: column 'distance' is a cost by its name"),
    (["convert", "roads.csv", "roads.csr"], "maximize=True (--maximize)"),
    (["match", "rmat:scale=x"], "scale='x' must be a whole number"),
    (["match", "gird:rows=3,cols=3"], "'gird' is not a family"),
    (["match", "a:b=1/x.mtx"], "a:b=1/x.mtx: there is no such file"),
    (["match", "path:n=4", "-o", "/proc/self/fd/1"], "/proc/self/fd/1: this is no file, nor can one be put there"),
    (["match", "rmat:scale=4,colour=red"], "rmat has no parameter 'colour'"),
    (["info", "bad.mtx"], "bad.mtx"),
    (["strongest", "bad.mtx"], "bad.mtx"),
    (["verify", "path:n=4", "absent.txt"], "absent.txt"),
    (["verify", "bad.mtx", "mates.txt"], "bad.mtx"),
    (["convert", "bad.mtx", "out.csr"], "bad.mtx"),
    (["generate", "blob:n=4", "-o", "out.mtx"], "'blob' is not a family"),
    (["generate", "bad.mtx", "-o", "out.mtx"], "'bad.mtx' is not a family"),
    (["generate", "path", "-o", "out.mtx"], "path needs n"),
    (["generate", "path", "n=4", "n=5", "-o", "out.mtx"], "n is given twice"),
    (["generate", "path", "n", "-o", "out.mtx"], "'n' is not name=value"),
    # outputs; the graph is bad too, so these are refused before it is read
    (["match", "bad.mtx", "-o", "absent/mates.txt"], "there is no folder absent"),
    (["match", "bad.mtx", "-o", "folder.mtx"], "folder.mtx: a folder stands there"),
    (["strongest", "bad.mtx", "-o", "absent/strong.txt"], "there is no folder absent"),
    (["convert", "bad.mtx", "out.png"], "out.png: unknown extension"),
    (["convert", "bad.mtx", "absent/out.mtx"], "there is no folder absent"),
    (["convert", "bad.mtx", "folder.mtx"], "folder.mtx: a folder stands there"),
    (["convert", "bad.mtx", "folder.csr"], "folder.csr: what stands there is not a .csr graph alone"),
    (["generate", "path:n=x", "-o", "file.csr"], "file.csr: what stands there is not a .csr graph alone"),
    (["match", "bad.mtx", "-o", "link.txt"], "link.txt: there is no folder"),
    (["match", "bad.mtx", "-o", "bad.mtx"], "bad.mtx: this is the graph itself"),
    (["match", "bad.mtx", "-o", "same.mtx"], "same.mtx: this is the graph itself"),
    (["strongest", "bad.mtx", "-o", "bad.mtx"], "bad.mtx: this is the graph itself"),
    (["coarsen", "bad.mtx", "-o", "bad.mtx"], "bad.mtx: this is the graph itself"),
    (["coarsen", "bad.mtx", "--map", "bad.mtx"], "bad.mtx: this is the graph itself"),
    (["generate", "path:n=4", "-o", "out"], "out: unknown extension"),
]


@pytest.fixture
def folder(tmp_path):
    """A folder of things to stumble over, and what is in it."""
    (tmp_path / "bad.mtx").write_text(MTX)
    (tmp_path / "empty.csv").write_text("")
    (tmp_path / "laplacian.csv").write_text("0,1,-1\n")
    (tmp_path / "people.csv").write_text("age,income\n18,100\n30,200\n")
    (tmp_path / "roads.csv").write_text("u,v,distance\n0,1,4\n1,2,9\n")
    (tmp_path / "mates.txt").write_text("1\n0\n3\n2\n")
    (tmp_path / "picture.png").write_text("picture")
    (tmp_path / "file.csr").write_text("file")
    (tmp_path / "link.txt").symlink_to(tmp_path / "absent" / "mates.txt")
    (tmp_path / "same.mtx").symlink_to("bad.mtx")
    for name in ("folder.mtx", "folder.csr"):
        (tmp_path / name).mkdir()
    return tmp_path


def content(folder):
    return {path: path.read_bytes() if path.is_file() else None for path in folder.rglob("*")}


@pytest.mark.parametrize(("arguments", "reason"), BAD, ids=[" ".join(arguments) for arguments, _ in BAD])
def test_one_line_and_exit_code_2(run, folder, arguments, reason):
    before = content(folder)
    code, out, err = run(*arguments)
    assert (code, out) == (2, "")
    assert err.startswith("troth: ")
    assert err.count("\n") == 1
    assert reason in err
    assert not re.search(r"pydantic|Value error|Input should", err)  # words of typer's own libraries
    assert content(folder) == before


def test_a_cost_that_is_a_weight(run, folder):
    assert "9" in run("match", "roads.csv", "--maximize").out
    assert run("match", "roads.csv", "--weights", "unit").code == 0
    assert run("info", "roads.csv").code == 0  # which matches nothing
    assert run("convert", "roads.csv", "roads.csr", "--maximize").code == 0
    assert run("match", "people.csv", "--columns", "age,income").code == 0


ALONE = "runs as one process: leave mpiexec out"
MANY = [
    (["match", "path:n=4", "-o", "mates.txt"], "say --device mpi"),
    (["verify", "path:n=4", "mates.txt"], "say --device mpi"),
    (["strongest", "path:n=4", "-o", "out.txt"], ALONE),
    (["convert", "path:n=4", "out.csr"], ALONE),
    (["generate", "path:n=4", "-o", "out.csr"], ALONE),
    (["coarsen", "path:n=4", "-o", "out.csr"], ALONE),
]
LAUNCHED = [
    {"PMI_RANK": "0", "PMI_SIZE": "2"},
    {"PMIX_RANK": "0", "OMPI_COMM_WORLD_RANK": "0", "OMPI_COMM_WORLD_SIZE": "2"},
    {"PMI_RANK": "0", "MPI_LOCALNRANKS": "2"},
    {"SLURM_PROCID": "0", "SLURM_STEP_NUM_TASKS": "2", "SLURM_NTASKS": "2"},  # srun
]


@pytest.mark.parametrize(("arguments", "remedy"), MANY, ids=[arguments[0] for arguments, _ in MANY])
def test_one_of_several_processes(run, folder, monkeypatch, arguments, remedy):
    before = content(folder)
    for launched in LAUNCHED:
        with monkeypatch.context() as patch:
            for name, value in launched.items():
                patch.setenv(name, value)
            code, out, err = run(*arguments)
            assert (code, out) == (2, "")
            assert "2), of which each would do all of the work and write the same files" in err
            assert remedy in err
            for name in launched:
                if name in RANK:
                    patch.setenv(name, "1")
            assert run(*arguments) == (2, "", "")  # rank 0 has said it
    assert content(folder) == before


@pytest.mark.parametrize(
    "alone",
    [
        {"SLURM_NTASKS": "8"},  # the shell of an allocation
        {"SLURM_NTASKS": "8", "SLURM_PROCID": "0", "SLURM_STEP_NUM_TASKS": "1"},  # a step of one task within it
        {"SLURM_NTASKS": "8", "SLURM_PROCID": "0"},  # a batch script
        {"PMI_RANK": "0", "PMI_SIZE": "1"},
    ],
)
def test_a_process_of_its_own(run, monkeypatch, alone):
    for name, value in alone.items():
        monkeypatch.setenv(name, value)
    assert run("match", "path:n=4", "-o", "mates.txt").code == 0


# What means a GPU. The graph is absent, so these are refused before it is read.
ON_GPU = [
    ["match", "absent.mtx", "--device", "cuda"],
    ["match", "absent.mtx", "--device", "cuda:1"],
    ["match", "absent.mtx", "-a", "handshake", "--gpu-threads", "8"],
    ["match", "absent.mtx", "-a", "handshake", "-O", "gpu_threads=8"],
    ["strongest", "absent.mtx", "--device", "cuda"],
    ["strongest", "absent.mtx", "--gpu-threads", "8"],
]


@pytest.mark.parametrize("arguments", ON_GPU, ids=" ".join)
def test_no_cupy(run, monkeypatch, arguments):
    monkeypatch.setitem(sys.modules, "cupy", None)
    arrays.cupy.cache_clear()
    code, out, err = run(*arguments)
    assert (code, out) == (2, "")
    assert err.startswith('troth: device="cuda": CuPy is not installed; pip install')
    assert err.count("\n") == 1


@pytest.mark.parametrize("arguments", ON_GPU, ids=" ".join)
def test_no_gpu(run, monkeypatch, arguments):
    monkeypatch.setattr(arrays, "count_devices", lambda: 0)
    code, out, err = run(*arguments)
    assert (code, out) == (2, "")
    assert err.startswith("troth: device='cuda")
    assert err.endswith('there is no CUDA device; choose device="cpu"\n')
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    "arguments", [["match", "bad.mtx", "-o", "mates.txt"], ["strongest", "bad.mtx", "-o", "mates.txt"]]
)
def test_what_stood_there_stays(run, folder, arguments):
    before = content(folder)
    assert run(*arguments).code == 2
    assert content(folder) == before


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_what_is_no_file_is_not_replaced(run, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    assert run("match", "path:n=4", "-o", "pipe").code == 2
    assert (tmp_path / "pipe").is_fifo()


def test_standard_streams_are_for_graphs(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for words in (("match", "path:n=4", "-o", "-"), ("verify", "path:n=4", "-")):
        code, out, err = run(*words)
        assert (code, out) == (2, "")
        assert "./-" in err
    assert list(tmp_path.iterdir()) == []
