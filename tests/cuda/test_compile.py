"""Every kernel that a host file may load compiles for several architectures; no GPU is needed."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from pathlib import Path

import pytest

import troth.cuda
from troth.kernels.launch import OPTIONS, source

nvrtc = pytest.importorskip("cuda.bindings.nvrtc", reason="cuda-bindings is not installed: NVRTC cannot be called")

STEMS = sorted(path.stem for path in (Path(troth.cuda.__file__).parent / "kernels").glob("*.cu"))
ARCHITECTURES = ("compute_75", "compute_80", "sm_90")  # to PTX, as a driver takes it, and to machine code
PROGRAMS = [(stem, names) for stem in STEMS for names in import_module(f"troth.cuda.{stem}").PROGRAMS.values()]


def checked(answer: tuple):
    """The value of a call to NVRTC, whose first result says whether it went well."""
    status, *values = answer
    assert status == nvrtc.nvrtcResult.NVRTC_SUCCESS, status
    return values[0] if len(values) == 1 else values


def compile_for(architecture: str, stem: str, names: set[str]) -> str:
    """Compile some kernels of a file; returns the log where that fails."""
    program = checked(nvrtc.nvrtcCreateProgram(source(stem).encode(), f"{stem}.cu".encode(), 0, [], []))
    for name in names:
        checked(nvrtc.nvrtcAddNameExpression(program, name.encode()))
    words = [option.encode() for option in (*OPTIONS, f"--gpu-architecture={architecture}")]
    (status,) = nvrtc.nvrtcCompileProgram(program, len(words), words)
    log = bytes(checked(nvrtc.nvrtcGetProgramLogSize(program)))
    checked(nvrtc.nvrtcGetProgramLog(program, log))
    for name in names if status == nvrtc.nvrtcResult.NVRTC_SUCCESS else ():
        assert checked(nvrtc.nvrtcGetLoweredName(program, name.encode()))
    return "" if status == nvrtc.nvrtcResult.NVRTC_SUCCESS else log.rstrip(b"\0").decode()


@pytest.fixture(scope="module")
def logs():
    """The compiler's logs by file and architecture; all cores compile."""
    names = {stem: {name for owner, names in PROGRAMS if owner == stem for name in names} for stem in STEMS}
    assert all(names.values())
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        yield {
            (stem, architecture): pool.submit(compile_for, architecture, stem, names[stem])
            for architecture in ARCHITECTURES
            for stem in STEMS
        }


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("stem", STEMS)
def test_compile(logs, stem, architecture):
    assert logs[stem, architecture].result() == ""


def test_an_error_is_found():
    assert "missing" in compile_for("sm_90", STEMS[0], {"missing"})
