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
