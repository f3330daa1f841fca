"""The choice of p, the probability of blue: what one round matches, beside the talk's formulas (part of blue-red)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from bench import figures, one_round
from bench.verdicts import CLOSE, held

if TYPE_CHECKING:
    from bench.report import Page

DASHED, SOLID = {"linestyle": (0, (5, 1.5)), "linewidth": 1.2}, {"linestyle": "-", "linewidth": 1.2}


def large_graphs(results: list[dict[str, Any]], page: Page) -> None:
    import numpy as np

    if not results:
        return
    p = np.linspace(0.01, 0.99, 99)
    degrees = [each["d"] * each["n"] for each in results]
    figure, ax = figures.new()
    ax.plot(p, one_round.limit(p), color=figures.INK, label="slides, equation (2)", **SOLID)
    ax.axvline(one_round.P, color=figures.INK, linewidth=0.8, linestyle=":")
    for number, (degree, each) in enumerate(zip(degrees, results, strict=True)):
        _points(ax, each, f"measured, degree {degree:.0f}", number)
    _p_axes(ax)
    page.figure(
        figure,
        "p",
        f"Fraction matched by one round on large random graphs ({results[0]['n']:,} vertices), over p, and the talk's "
        f"equation (2). The dotted line is at p = {one_round.P}.",
    )
    dense, best = results[-1], one_round.best_p()
    measured = one_round.top(dense["p"], dense["fraction"])
    page.claim(
        f"for large random graphs one should choose p about {one_round.P}, where equation (2) is greatest",
        f"equation (2) is greatest at {best:.5f}, with {one_round.limit(best):.4f}; what was measured at degree "
        f"{degrees[-1]:.0f} is greatest at {measured:.3f}, with {max(dense['fraction']):.4f}",
        held(abs(best - one_round.P) < 5e-6 and abs(measured - one_round.P) < CLOSE),
    )
    apart = [_distance(each, one_round.limit) for each in results]
    page.claim(
        "in large random graphs the expected fraction is about 2 (1 - p) (1 - exp(-p / (1 - p)))",
        f"at degree {degrees[-1]:.0f} the measured fraction differs from it by at most {apart[-1]:.4f}, over all p",
        held(apart[-1] < CLOSE),
    )
    words = ", ".join(f"{apart[at]:.3f} at degree {degrees[at]:.0f}" for at in range(len(results)))
    page.finding(
        "Equation (2) is for n to infinity at a fixed density d. At a fixed average degree, where d falls as 1 / n, "
        f"the measured fraction differs from it by at most {words}: some blue vertices have no red neighbour then."
    )


def fixed_density(results: list[dict[str, Any]], page: Page) -> None:
    """The limit is over n, at any fixed d: how far from it one round is, as n grows."""
    said = "that fraction, the limit for n to infinity at a fixed density d, is independent of d"
    by_density: dict[float, dict[int, float]] = {}
    for each in sorted(results, key=lambda each: (each["d"], each["n"])):
        by_density.setdefault(each["d"], {})[each["n"]] = _distance(each, one_round.limit)
    if not by_density:
        page.claim(said, "not in these results: python -m bench blue-red --size full measures it", "not tested")
        return
    figure, ax = figures.new()
    for (d, found), look in zip(by_density.items(), map(figures.style, range(len(by_density))), strict=True):
        ax.plot(list(found), list(found.values()), label=f"d = {d:g}", **look)
    ax.axhline(CLOSE, color=figures.INK, linewidth=0.8, linestyle=":")
    ax.set_xscale("log", base=2)
    ax.set_yscale("log")
    ax.set_xlabel("n, vertices")
    ax.set_ylabel("greatest distance from equation (2)")
    figures.legend(ax, 3)
    page.figure(
        figure,
        "limit",
        f"By how much the fraction matched by one round differs from equation (2), at most over p, on random graphs of "
        f"n vertices and fixed density d. The dotted line is at {CLOSE}.",
    )
    words = "; ".join(
        f"d = {d:g}: {', '.join(f'{apart:.3f}' for apart in found.values())} (n = {', '.join(map(str, found))})"
        for d, found in by_density.items()
    )
    last = [found[max(found)] for found in by_density.values()]
    ours = f"the greatest difference of the measured fraction from it, over all p: {words}"
    page.claim(said, ours, held(max(last) < CLOSE))


def small_graphs(results: list[dict[str, Any]], page: Page) -> None:
    import numpy as np

    if not results:
        return
    p = np.linspace(0.01, 0.99, 99)
    figure, (above, below) = figures.new(2, height=3.4, share=True)
    theirs, ours = [], []
    for number, each in enumerate(results):
        n, d, colour = each["n"], each["d"], figures.style(number)["color"]
        _points(above, each, f"measured, n = {n}, d = {d:g}", number)
        slides, right = (lambda x, n=n, d=d: one_round.finite(x, n, d)), (lambda x, n=n, d=d: one_round.exact(x, n, d))
        for formula, line, apart in ((slides, DASHED, theirs), (right, SOLID, ours)):
            above.plot(p, [formula(x) for x in p], color=colour, **line)
            marker = {"marker": figures.style(number)["marker"], "markersize": 3.5}
            below.plot(each["p"], _differences(each, formula), color=colour, **line, **marker)
            apart.append(_distance(each, formula))
    above.plot([], [], color=figures.INK, label="slides, for n and d", **DASHED)
    above.plot([], [], color=figures.INK, label="exact expectation", **SOLID)
    below.axhline(0, color=figures.INK, linewidth=0.8)
    below.set_ylabel("formula less measured")
    _p_axes(above, below)
    page.figure(
        figure, "density", "Fraction matched by one round on small random graphs of n vertices and density d, over p."
    )
    words = ", ".join(f"{theirs[at]:.3f} (n = {each['n']}, d = {each['d']:g})" for at, each in enumerate(results))
    page.claim(
        "for n vertices and density d the expected number of red vertices that get a proposal is about "
        "n (1 - p) (1 - (1 - p d / (1 + (1 - p) (d (n - 1) - 1)))^(n - 1))",
        f"twice that, over n, differs from the measured fraction by at most {words}; the exact expectation, which "
        f"looks at the number of red vertices, by at most {max(ours):.3f}",
        held(max(theirs) < CLOSE),
        "it divides by the mean number of red neighbours, and in small graphs their number varies much",
    )


def _points(ax: Any, found: dict[str, Any], name: str, number: int) -> None:
    look = figures.style(number) | {"linestyle": "none", "markersize": 4.5}
    ax.plot(found["p"], found["fraction"], label=name, **look)


def _p_axes(ax: Any, below: Any = None) -> None:
    ax.set_xlim(0, 1)
    ax.set_ylim(0, 0.7)
    ax.set_ylabel("fraction matched")
    (below or ax).set_xlabel("p, the probability of blue")
    figures.legend(ax)


def _differences(found: dict[str, Any], formula: Callable[[float], float]) -> list[float]:
    return [formula(p) - measured for p, measured in zip(found["p"], found["fraction"], strict=True)]


def _distance(found: dict[str, Any], formula: Callable[[float], float]) -> float:
    return max(map(abs, _differences(found, formula)))
