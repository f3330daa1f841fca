"""What all tests share: the folder of test data, Hypothesis without deadlines (a first call compiles), GPU or none."""

from __future__ import annotations

import os
from pathlib import Path, PurePath

import pytest
from hypothesis import settings

ROOT = Path(__file__).resolve().parent.parent
DATA = ROOT / os.environ.get("TROTH_DATA", "../shared/data")  # an absolute TROTH_DATA stands alone

# The same examples each time, so that a failure is due to a change; ``make test-all`` draws others, with "random".
settings.register_profile("same", deadline=None, derandomize=True)
settings.register_profile("random", deadline=None)
settings.load_profile("same")


# Where several processes share the tests, a file stays in one, since its tests compile the same kernels. So do these
# folders and files, in this order, and before others: those that start MPI jobs, of which two at a time would wait for
# each other busily; those that compile the engines; and long ones, which would keep one process busy at the end.
GROUPS = {
    "ranks": ("mpi", "ranks", "bench", "test_ranks"),
    "engines": ("test_agreement", "test_api", "cpu", "kernels"),
    "pages": ("test_page", "test_draw"),
    "docs": ("test_docs",),
}
PLACES = {part: (group, place) for group, parts in GROUPS.items() for place, part in enumerate(parts)}


def group_of(path: PurePath) -> tuple[str, int]:
    """The group of a file, and its place there."""
    return PLACES.get(path.parent.name) or PLACES.get(path.stem) or (path.stem, len(PLACES))


def pytest_collection_modifyitems(items):
    items.sort(key=lambda item: group_of(item.path)[1])


@pytest.hookimpl(optionalhook=True)  # of pytest-xdist
def pytest_xdist_make_scheduler(config, log):
    from xdist.scheduler import LoadScopeScheduling

    class ByGroup(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return group_of(PurePath(nodeid.partition("::")[0]))[0]

    return ByGroup(config, log)


def pytest_runtest_setup(item):
    if item.get_closest_marker("gpu"):
        from troth.arrays import is_available

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
