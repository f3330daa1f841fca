"""Warnings of what will go: one line, and at the user's own."""

import inspect

import pytest

from troth.deprecation import renamed, warn_deprecated
from troth.errors import TrothError


@renamed("tie_rule", "ties", "0.4")
def match(graph, *, ties="hash"):
    """A matching."""
    return graph, ties


def old_match():
    warn_deprecated("old_match()", "match()", "0.4")


@pytest.mark.parametrize("call", [old_match, lambda: match(0, tie_rule="low")])
def test_the_warning_is_one_line_and_points_at_the_caller(call):
    with pytest.warns(DeprecationWarning, match=r"^\S+ is deprecated and will go in troth 0\.4: use \S+$") as caught:
        call()
    assert caught[0].filename == __file__


def test_a_renamed_keyword_means_the_same():
    with pytest.warns(DeprecationWarning, match="tie_rule"):
        assert match(1, tie_rule="low") == (1, "low")
    assert match(1, ties="low") == (1, "low")  # warnings are errors in tests
    with pytest.raises(TrothError, match="give ties alone"):
        match(1, ties="low", tie_rule="high")


def test_tools_see_the_new_name_alone():
    assert list(inspect.signature(match).parameters) == ["graph", "ties"]
    assert match.__doc__ == "A matching."
