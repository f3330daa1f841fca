"""Compiled kernels: renewed when a helper in another file changes; compiled plainly by versions of Numba not tested."""

import os
import subprocess
import sys
import threading
from pathlib import Path
from shutil import copytree, ignore_patterns
from time import perf_counter, sleep

import numpy as np
import pytest

import troth
from troth import order
from troth.kernels import compiling, jit

SOURCES = Path(troth.__file__).parent


def output(code: str, path: Path, cache: Path) -> str:
    """What a program prints, with the package of ``path`` and a folder of its own for compiled code."""
    words = os.environ | {"PYTHONPATH": str(path), "NUMBA_CACHE_DIR": str(cache)}
    return subprocess.run([sys.executable, "-c", code], env=words, stdout=subprocess.PIPE, text=True, check=True).stdout


def test_a_kernel_is_compiled_anew_when_a_helper_changes(tmp_path):
    """``uniform_weight`` is in gate/cpu.py; what it hashes with, in order.py."""
    copytree(SOURCES, tmp_path / "troth", ignore=ignore_patterns("__pycache__"))
    code = """
import numpy as np
from troth.gate.cpu import uniform_weight
print(uniform_weight(np.uint64(1), 2, 3), sum(uniform_weight.stats.cache_hits.values()))
"""
    first, again = (output(code, tmp_path, tmp_path / "cache").split() for _ in range(2))
    assert (first[1], again) == ("0", [first[0], "1"])
    helper = tmp_path / "troth" / "order.py"
    text = helper.read_text()
    helper.write_text(text.replace("0x94D049BB133111EB", "0x94D049BB133111ED"))
    changed = output(code, tmp_path, tmp_path / "cache").split()
    assert changed[0] != first[0]
    assert changed[1] == "0"
    helper.write_text(text)
    assert output(code, tmp_path, tmp_path / "cache").split()[0] == first[0]


@pytest.mark.slow
def test_kept_code_may_name_types_that_are_no_more(tmp_path):
    """As after an update of the package in place, which leaves compiled kernels behind."""
    copytree(SOURCES, tmp_path / "troth", ignore=ignore_patterns("__pycache__"))
    code = "import troth; print(troth.match('path:n=40,seed=1', algorithm='handshake').mate.tolist())"
    before = output(code, tmp_path, tmp_path / "cache")
    for path in (tmp_path / "troth").rglob("*.py"):
        path.write_text(path.read_text("utf-8").replace("VertexQueue", "OtherQueue"), "utf-8")
    assert output(code, tmp_path, tmp_path / "cache") == before


def test_two_processes_that_compile_at_once(tmp_path):
    """Neither has seen the other's entry in the index: the files of two signatures have two names all the same."""
    code = "import sys, numpy as np\nfrom troth.rows import find\n"
    code += "print(find(np.arange(9, dtype='{}'), np.uint64(0), np.uint64(9), 4), *find.stats.cache_hits.values())"
    for kind in ("int32", "int64"):
        assert output(code.format(kind), SOURCES.parent, tmp_path).split()[0] == "4"
        (index,) = tmp_path.rglob("rows.find*.nbi")
        index.rename(tmp_path / f"{kind}.kept")
    assert len(list(tmp_path.rglob("rows.find*.nbc"))) == 2
    for kind in ("int32", "int64"):  # the index of either names its own file
        (tmp_path / f"{kind}.kept").replace(index)
        assert output(code.format(kind), SOURCES.parent, tmp_path).split() == ["4", "1"]


def test_compilation_is_timed_apart(tmp_path):
    """In the first process and not in the second; it is in no other phase."""
    code = """
from time import perf_counter
import troth
graph = troth.generate("path", n=9)
start = perf_counter()
seconds = troth.match(graph, algorithm="handshake").stats["seconds"]
print(seconds.get("compile", 0.0), seconds["match"], perf_counter() - start)
"""
    compiled, matched, spent = map(float, output(code, SOURCES.parent, tmp_path).split())
    assert 0 < matched < compiled < compiled + matched <= spent
    assert output(code, SOURCES.parent, tmp_path).split()[0] == "0.0"


def test_steps_are_not_called_from_python():
    """Without the wrappers that this takes, the process would end."""
    with pytest.raises(TypeError, match="priority is a step of kernels"):
        order.priority(order.make_order(), np.uint64(1))


def test_what_a_kernel_depends_on():
    """Imports of imports, over several lines too; but no neighbours."""
    files = {SOURCES / "cpu" / "suitor.py"}
    while more := {found for file in files for found in jit._read(file)[1] if found.is_file()} - files:
        files |= more
    names = {file.relative_to(SOURCES).as_posix() for file in files}
    assert {"order.py", "rows.py", "kernels/atomics.py", "kernels/team.py", "kernels/jit.py"} <= names
    assert not {"cpu/greedy.py", "ranks/suitor.py"} & names
    assert SOURCES / "gate" / "findings.py" in jit._read(SOURCES / "gate" / "cpu.py")[1]


@pytest.mark.slow
def test_versions_of_numba_that_were_not_tested(tmp_path):
    """Without the private flag kernels compile all the same, generators and queues too."""
    code = """
import numba
numba.version_info = numba.version_info._replace(short=(0, 10**6))
import numpy as np
from troth.contract import Context
from troth.cpu.locally_dominant import run
from troth.graph import Graph
from troth.kernels import jit
from troth.order import make_order
assert jit.LEAN == {}
path = Graph(np.array([0, 1, 3, 4]), np.array([1, 0, 2, 1], np.int32), np.array([2, 2, 3, 3]))
print(run(path, make_order(), Context(threads=2)).mates.tolist())
"""
    assert output(code, SOURCES.parent, tmp_path).strip() == "[-1, 2, 1]"
    assert jit.LEAN == {"_nrt": False}


FIND = "import numpy as np\nfrom troth.rows import find\nfor kind in ('int32', 'int64'):\n"
FIND += "    print(find(np.arange(9, dtype=kind), np.uint64(0), np.uint64(9), 4))"


def run_python(code: str, **changes: str) -> subprocess.CompletedProcess:
    words = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"} | changes
    return subprocess.run([sys.executable, "-c", code], env=words, capture_output=True, text=True)


def test_without_a_place_for_compiled_kernels(tmp_path):
    """As in a container: the package's folders cannot be written to (here a file is in the way), nor the user's."""
    copytree(SOURCES, tmp_path / "troth", ignore=ignore_patterns("__pycache__"))
    for folder in (tmp_path / "troth", *(path for path in (tmp_path / "troth").rglob("*") if path.is_dir())):
        (folder / "__pycache__").touch()
    nowhere = str(tmp_path / "troth" / "__pycache__" / "below")
    places = dict.fromkeys(("HOME", "XDG_CACHE_HOME", "LOCALAPPDATA"), nowhere)
    done = run_python(FIND, PYTHONPATH=str(tmp_path), **places)
    assert done.stdout == "4\n4\n", done.stderr
    assert done.stderr.count("RuntimeWarning: there is no writable folder for compiled kernels") == 1
    command = "import sys, troth.cli; sys.exit(troth.cli.main(['match', 'absent.mtx']))"
    done = run_python(command, PYTHONPATH=str(tmp_path), **places)
    note, refusal = done.stderr.splitlines()
    assert done.returncode == 2
    assert note.startswith("troth: there is no writable folder for compiled kernels, so every process compiles")
    assert refusal == "troth: absent.mtx: there is no such file"


@pytest.mark.skipif(sys.platform == "win32", reason="files have no limit of size here")
def test_without_room_for_compiled_kernels(tmp_path):
    """A limit on the size of files stands for a full disk; what is being written is not to blame."""
    limit = "import resource\nresource.setrlimit(resource.RLIMIT_FSIZE, (3000, 3000))\n"
    write = "\nfrom pathlib import Path\nfrom troth.io import atomic_path\nwith atomic_path('out.txt') as path:\n"
    write += "    print(find(np.arange(9, dtype='uint32'), np.uint64(0), np.uint64(9), 4))\n    path.write_text('fine')"
    code = f"import os\nos.chdir({str(tmp_path)!r})\n{limit}{FIND}{write}"
    done = run_python(code, PYTHONPATH=str(SOURCES.parent), NUMBA_CACHE_DIR=str(tmp_path / "cache"))
    assert done.stdout == "4\n4\n4\n", done.stderr
    assert done.stderr.count("RuntimeWarning: compiled kernels cannot be kept in") == 1
    assert (tmp_path / "out.txt").read_text() == "fine"


def test_a_cache_of_which_a_part_is_missing(tmp_path):
    """As after a crash or a copy that was cut short: what is damaged is compiled and kept anew."""
    code = "import numpy as np\nfrom troth.rows import find\n"
    code += "print(find(np.arange(9), np.uint64(0), np.uint64(9), 4), *find.stats.cache_hits.values())"
    output(code, SOURCES.parent, tmp_path)
    (index,) = tmp_path.rglob("rows.find*.nbi")
    index.write_bytes(b"")
    assert output(code, SOURCES.parent, tmp_path).split() == ["4"]
    assert output(code, SOURCES.parent, tmp_path).split() == ["4", "1"]


def test_compilation_that_began_before():
    """By another thread, say: what was spent is never less than nothing."""
    begun, done = threading.Event(), threading.Event()

    def other() -> None:
        with compiling.compiling():
            begun.set()
            done.wait()

    thread = threading.Thread(target=other)
    thread.start()
    begun.wait()
    sleep(0.05)
    start, watch = perf_counter(), compiling.Stopwatch()
    sleep(0.01)
    assert compiling.is_compiling()
    done.set()
    thread.join()
    assert watch.lap() >= 0
    assert 0.01 <= watch.compiled <= perf_counter() - start
    assert not compiling.is_compiling()
