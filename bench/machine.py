"""Where and with what something was measured: processor, memory, GPU, versions, commit."""

from __future__ import annotations

import os
import platform
import re
import subprocess
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

CLONE = Path(__file__).resolve().parents[1]
PACKAGES = (
    "troth", "numpy", "scipy", "numba", "cupy-cuda12x", "cupy-cuda13x", "mpi4py", "networkit", "networkx", "rustworkx",
)  # fmt: skip


@cache
def facts() -> dict[str, Any]:
    """This machine, its versions and the commit of troth, in types that JSON has.

    >>> sorted(facts())
    ['commit', 'cores', 'cpu', 'gpu', 'memory', 'name', 'system', 'versions']
    """
    found = {
        "cpu": _cpu(),
        "cores": cores(),
        "memory": memory(),
        "gpu": gpu(),
        "system": f"{platform.system()} {platform.machine()}",
        "versions": {"python": platform.python_version(), **_versions()},
        "commit": commit(),
    }
    return {"name": name_of(found), **found}


def name_of(found: dict[str, Any]) -> str:
    """What tells machines apart in results: the processor, its cores and the GPU, not the host.

    >>> name_of({"cpu": "AMD EPYC 7B13", "cores": 2, "gpu": None})
    'AMD EPYC 7B13, 2 cores'
    """
    parts = [found["cpu"], f"{found['cores']} core{'s' * (found['cores'] != 1)}"]
    return ", ".join(parts + ([found["gpu"]["name"]] if found["gpu"] else []))


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def memory() -> int:
    """Bytes of main memory that this process may use, as far as the system says; else 8 GiB."""
    limits = [_physical()]
    for path in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        text = _read(path).strip()
        if text.isdecimal():
            limits.append(int(text))
    return min(limits)


def _physical() -> int:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # Windows has no sysconf
        return 2**33


@cache
def gpu() -> dict[str, Any] | None:
    """Name and bytes of the first GPU, where there is one."""
    from troth.arrays import cupy, is_available

    if not is_available():
        return None
    properties = cupy().cuda.runtime.getDeviceProperties(0)
    return {"name": properties["name"].decode(), "memory": int(properties["totalGlobalMem"])}


def _cpu() -> str:
    """The processor's name."""
    found = re.search(r"^model name\s*:\s*(.+)$", _read("/proc/cpuinfo"), re.MULTILINE)
    return " ".join((found[1] if found else platform.processor() or platform.machine()).split())


def _read(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _versions() -> dict[str, str]:
    found = {}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def commit() -> str | None:
    """The commit of this clone, with a + where they were changed; outside a repository TROTH_COMMIT, or None."""
    if not (CLONE / ".git").exists():
        return os.environ.get("TROTH_COMMIT")
    try:
        found = subprocess.run(
            ["git", "describe", "--always", "--abbrev=12", "--match=", "--dirty=+"],
            cwd=CLONE, capture_output=True, text=True, check=True,
        )  # fmt: skip
    except (OSError, subprocess.CalledProcessError):
        return None
    return found.stdout.strip() or None


def environment() -> dict[str, str]:
    """The variables of a Python process that imports this folder, wherever it is started."""
    paths = [str(CLONE), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
