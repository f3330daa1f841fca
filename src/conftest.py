"""Examples in docstrings run as tests; those that need torch are left out where it is not installed."""

from importlib.util import find_spec

import pytest

NEEDS = {"torch.py": "torch", "pyg.py": "torch_geometric"}
# pytest imports a module to find its examples, and this one imports what it needs at once.
collect_ignore = [] if find_spec("torch_geometric") else ["troth/interop/pyg.py"]


def pytest_runtest_setup(item):
    package = NEEDS.get(item.path.name)
    if package and not find_spec(package):
        pytest.skip(f"{package} is not installed")
