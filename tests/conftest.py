"""What all tests share: the folder of test data, Hypothesis without deadlines (a first call compiles), GPU or none."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

ROOT = Path(__file__).resolve().parent.parent
DATA = ROOT / os.environ.get("TROTH_DATA", "../shared/data")  # an absolute TROTH_DATA stands alone

settings.register_profile("troth", deadline=None)
settings.load_profile("troth")


STARTS_RANKS = {"mpi", "bench", "test_ranks"}  # folders and a file whose tests start MPI jobs, which wait busily
LONG = ("ranks", "test_compile", "test_agreement")  # groups that begin first


@pytest.hookimpl(tryfirst=True)  # xdist reads the marks in this very hook
def pytest_collection_modifyitems(config, items):
    """For several processes: a file stays in one, since its tests compile the same kernels, and so do all MPI jobs."""
    if not config.pluginmanager.hasplugin("xdist"):
        return
    groups = {}
    for item in items:
        name = item.path.stem
        groups.setdefault("ranks" if STARTS_RANKS & {item.path.parent.name, name} else name, []).append(item)
    for name, group in groups.items():
        for item in group:
            item.add_marker(pytest.mark.xdist_group(name))
    items[:] = [item for name in sorted(groups, key=lambda name: name not in LONG) for item in groups[name]]


def pytest_runtest_setup(item):
    if item.get_closest_marker("gpu"):
        from troth.cuda._device import is_available

        if not is_available():
            pytest.skip("no CUDA device, or CuPy is not installed")


@pytest.fixture(scope="session")
def data():
    """``data("optimum/small_cases.json")``: the path of a file of test data; skips the test where it is absent."""

    def find(name: str) -> Path:
        path = DATA / name
        if not path.exists():
            pytest.skip(f"{name} is not in {DATA}: set TROTH_DATA to the folder of test data")
        return path

    return find
