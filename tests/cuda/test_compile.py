"""Every kernel that a host file may load compiles for several architectures; no GPU is needed."""

from __future__ import annotations

import os
import re
from concurrent.futures import Future, ThreadPoolExecutor
from importlib import import_module
from pathlib import Path

import pytest

import troth.cuda
from troth import order
from troth.cuda import auction, batches, checks, paths, suitor
from troth.kernels.launch import OPTIONS, define, source
from troth.ranks import cards

nvrtc = pytest.importorskip("cuda.bindings.nvrtc", reason="cuda-bindings is not installed: NVRTC cannot be called")

STEMS = sorted(path.stem for path in (Path(troth.cuda.__file__).parent / "kernels").glob("*.cu"))
ARCHITECTURES = OLDEST, _, NEWEST = "compute_75", "compute_80", "sm_90"  # to PTX, as a driver takes it; machine code
OUTSIDE = {  # host files that are not in troth.cuda
    "gate": "troth.gate.cuda",
    "families": "troth.families.cuda",
    "part_auction": "troth.ranks.part_auction",
    "part_suitor": "troth.ranks.part_suitor",
}
HOSTS = {stem: import_module(OUTSIDE.get(stem, f"troth.cuda.{stem}")) for stem in STEMS}


def checked(answer: tuple):
    """The value of a call to NVRTC, whose first result says whether it went well."""
    status, *values = answer
    assert status == nvrtc.nvrtcResult.NVRTC_SUCCESS, status
    return values[0] if len(values) == 1 else values


def compile_for(architecture: str, stem: str, names: set[str], constants: tuple[str, ...] | None = None) -> str:
    """Compile some kernels of a file, with the constants of its host file; returns the log where that fails."""
    constants = HOSTS[stem].CONSTANTS if constants is None else constants
    program = checked(nvrtc.nvrtcCreateProgram(source(stem).encode(), f"{stem}.cu".encode(), 0, [], []))
    for name in names:
        checked(nvrtc.nvrtcAddNameExpression(program, name.encode()))
    words = [option.encode() for option in (*OPTIONS, *constants, f"--gpu-architecture={architecture}")]
    (status,) = nvrtc.nvrtcCompileProgram(program, len(words), words)
    log = bytes(checked(nvrtc.nvrtcGetProgramLogSize(program)))
    checked(nvrtc.nvrtcGetProgramLog(program, log))
    for name in names if status == nvrtc.nvrtcResult.NVRTC_SUCCESS else ():
        assert checked(nvrtc.nvrtcGetLoweredName(program, name.encode()))
    return "" if status == nvrtc.nvrtcResult.NVRTC_SUCCESS else log.rstrip(b"\0").decode()


NAMES = {stem: {name for names in host.PROGRAMS.values() for name in names} for stem, host in HOSTS.items()}
OTHER = re.compile(r"\b(u8|u16|u64|double)\b")  # types of weights that do not have four bytes


def narrow(stem: str) -> set[str]:
    """The kernels of a file for weights of four bytes."""
    return {name for name in NAMES[stem] if not OTHER.search(name)}


@pytest.fixture(scope="module")
def logs():
    """The compiler's logs by file, architecture and kernels; all cores compile, each of these once."""
    made = {}
    with ThreadPoolExecutor(os.cpu_count()) as pool:

        def log(stem: str, architecture: str, names: set[str], *constants: str) -> Future[str]:
            key = stem, architecture, frozenset(names), constants
            if key not in made:
                made[key] = pool.submit(compile_for, architecture, stem, names, (*HOSTS[stem].CONSTANTS, *constants))
            return made[key]

        for stem in STEMS:
            log(stem, OLDEST, narrow(stem))
        yield lambda *words: log(*words).result()


@pytest.mark.parametrize("stem", STEMS)
def test_compile(logs, stem):
    """Kernels for weights of four bytes; those of other types are compiled for a CPU by the tests that emulate."""
    assert narrow(stem)
    assert [logs(stem, architecture, narrow(stem)) for architecture in (OLDEST, NEWEST)] == ["", ""]
    if "Order order" in source(stem):
        assert logs(stem, OLDEST, narrow(stem), *define(DEGREE=1)) == ""


@pytest.mark.slow
@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("stem", STEMS)
def test_compile_for_all_types(logs, stem, architecture):
    assert logs(stem, architecture, NAMES[stem]) == ""
    if "Order order" in source(stem):
        assert logs(stem, architecture, NAMES[stem], *define(DEGREE=1)) == ""


def test_an_error_is_found():
    assert "missing" in compile_for("sm_90", STEMS[0], {"missing"})


@pytest.mark.parametrize(
    ("stem", "name"),
    [("suitor", "ITEM_BYTES"), ("suitor", "WIDE_BYTES"), ("coarsen", "ROW_BYTES"), ("checks", "ORDER_BYTES")],
)
def test_a_host_file_that_disagrees_is_found(stem, name):
    """Were a struct another one than the host file says, its kernels would not compile."""
    lines = HOSTS[stem].CONSTANTS
    (line,) = (line for line in lines if line.startswith(f"-DHOST_{name}="))
    others = (*(other for other in lines if other != line), f"-DHOST_{name}=1")
    assert "the host has" in compile_for("sm_90", stem, set(), others)


@pytest.mark.parametrize("stem", STEMS)
def test_every_constant_is_used(stem):
    text = source(stem)
    text += "".join(f"HOST_{name}_BYTES" for _, name in re.findall(r"SAME_SIZE\((.+?), (\w+)\)", text))
    names = [line.removeprefix("-D").partition("=")[0] for line in HOSTS[stem].CONSTANTS]
    assert [name for name in names if name not in text] == []


@pytest.mark.parametrize(
    ("stem", "struct", "kind"),
    [
        ("suitor", "Order", order._ORDER),
        ("suitor", "Wide", suitor._WIDE),
        ("suitor", "Control", suitor._CONTROL),
        ("batches", "Part", batches._PART),
        ("checks", "Units", checks.UNITS),
        ("paths", "Units", paths.UNITS),
        ("auction", "Longs", auction._LONGS),
        ("auction", "Scale", paths.SCALE),
        ("part_suitor", "Part", cards.PART),
        ("part_suitor", "Items", cards.ITEMS),
    ],
)
def test_structs_have_the_fields_of_the_host(stem, struct, kind):
    """In the same order: the size alone would not tell two fields that were exchanged."""
    body = re.search(rf"struct {struct} {{(.*?)(?:}};|__device__)", source(stem), re.DOTALL)[1]
    lines = re.sub(r"//.*|\[\w+\]", "", body).split(";")
    fields = [name for line in lines for name in re.findall(r"(\w+)\s*(?:,|$)", line.strip())]
    assert fields == list(kind.names)


def test_the_last_word_of_control_is_the_rounds():
    assert re.search(r"u32 rounds;[^;]*};\nSAME_SIZE\(Control", source("auction"))
