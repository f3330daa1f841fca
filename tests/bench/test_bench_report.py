"""The report of a tiny run: complete, self-contained, and honest about what is missing."""

from __future__ import annotations

import json
import re

import pytest

import troth
from bench import claims, experiments, machine, report, verdicts
from bench.store import FILE, Store, identity

ON_GPU = ("balance", "devices-choice", "mpi-cards")  # beside those that are named so


def able() -> list[str]:
    """The experiments that this machine can run: without a GPU there are no answers about one."""
    names = experiments.names()
    return [name for name in names if machine.gpu() or ("gpu" not in name.split("-") and name not in ON_GPU)]


def few(store: Store) -> Store:
    """The results of one experiment alone, which are drawn fast."""
    store.tasks = {key: task for key, task in store.tasks.items() if task["experiment"] == "sizes"}
    return store


def test_tiny_run_of_all_experiments_is_whole(tiny):
    assert (tiny.outcome.failed, tiny.outcome.left) == (0, 0)
    assert {page.experiment for page in tiny.pages} == set(able())
    assert [page.fault for page in tiny.pages if page.fault] == []


def test_every_figure_can_be_read(tiny):
    assert [problem for page in tiny.pages for problem in page.crowded] == []


def test_folder_has_results_figures_and_page(tiny):
    page = (tiny.folder / "index.html").read_text(encoding="utf-8")
    drawn = re.findall(r'<figure id="figure-([^"]+)">', page)
    assert drawn == [name for page in tiny.pages for name in page.figures]
    for name in drawn:
        assert (tiny.folder / "figures" / f"{name}.svg").read_text(encoding="utf-8").count("<svg") == 1
        assert (tiny.folder / "figures" / f"{name}.png").read_bytes()[:4] == b"\x89PNG"
    for name in able():
        module = experiments.load(name)
        assert name == module.NAME
        assert all(isinstance(getattr(module, word), str) for word in ("TITLE", "SOURCE", "QUESTION", "METHOD"))
        assert f'<h2 id="{name}">' in page


def test_every_experiment_says_what_it_shows(tiny):
    assert [page.experiment for page in tiny.pages if not page.findings] == []
    assert [page.experiment for page in tiny.pages if not page.figures and page.experiment in experiments.PAPERS] == []


def test_page_needs_nothing_else(tiny):
    page = (tiny.folder / "index.html").read_text(encoding="utf-8")
    assert "<script" not in page
    assert not re.findall(r'\b(?:src|href)="(?!#)[^"]*"', page)
    assert not re.findall(r"url\((?!#)", page)
    ids = re.findall(r'\bid="([^"]+)"', page)
    assert len(ids) == len(set(ids))
    assert set(re.findall(r'(?:href="|url\()#([^")]+)', page)) <= set(ids)


def test_every_line_of_results_says_where_and_how(tiny):
    lines = [json.loads(line) for line in (tiny.folder / FILE).read_text(encoding="utf-8").splitlines()]
    runs = [line for line in lines if line["record"] == "run"]
    tasks = [line for line in lines if line["record"] == "task"]
    assert {"cpu", "cores", "memory", "gpu", "versions", "commit"} <= set(runs[0]["machine"])
    for task in tasks:
        assert task["machine"] == runs[0]["machine"]["name"]
        assert {"experiment", "key", "commit", "seed", "repeats", "threads"} <= set(task)
        assert "error" in task or {"seconds", "result"} <= set(task)
    assert {task["experiment"] for task in tasks} == set(map(experiments.records_of, able()))


def test_half_of_the_results_are_drawn_too(tiny, tmp_path):
    """As of a run that was stopped, or of a machine that cannot do it all."""
    store = Store(tiny.folder)
    store.tasks = dict(list(store.tasks.items())[::2])
    assert [(page.experiment, page.fault) for page in report.write(store, tmp_path) if page.fault] == []


def test_machines_stand_side_by_side(tiny, tmp_path):
    text = (tiny.folder / FILE).read_text(encoding="utf-8")
    name = json.loads(text.splitlines()[0])["machine"]["name"]
    (tmp_path / "a.jsonl").write_text(text, encoding="utf-8")
    (tmp_path / "b.jsonl").write_text(text.replace(json.dumps(name), '"Another, <b>4</b> cores"'), encoding="utf-8")
    pages = report.write(few(Store(tmp_path)), tmp_path)
    assert {page.machine["name"] for page in pages} == {name, "Another, <b>4</b> cores"}
    page = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert "Another, &lt;b&gt;4" in page
    assert "<b>4" not in page
    assert len(re.findall(r"<figure ", page)) == 2


def test_machine_has_the_versions_and_the_gaps_of_all_its_runs(tiny):
    """A library that one run had and a later one had not is there, and was not left out."""
    store = few(Store(tiny.folder))
    machine = {"name": "m", "versions": {"networkit": "11"}}
    runs = ({"machine": machine}, {"machine": machine | {"versions": {"numpy": "2"}}, "left_out": {"a": "", "b": ""}})
    store.runs = dict(enumerate(runs))
    next(iter(store.tasks.values())).update(machine="m", engine="a")
    found = report._machines(store)["m"]
    assert found["versions"] == {"networkit": "11", "numpy": "2"}
    assert list(found["left_out"]) == ["b"]


def test_rule_of_the_verdicts_is_in_the_report(tiny):
    assert verdicts.RULE in (tiny.folder / "index.html").read_text(encoding="utf-8")


def test_claims_are_kept_for_the_page(tiny):
    found = json.loads((tiny.folder / "claims.json").read_text(encoding="utf-8"))
    assert found
    assert all(claim["verdict"] in report.VERDICTS for claim in found)


def test_page_of_claims_names_what_a_gpu_has_not_tested_and_how_claims_are_judged():
    def claim(machine: str, verdict: str) -> dict[str, str]:
        return {"experiment": "pgas", "machine": machine, "paper": "p", "measured": "m", "verdict": verdict}

    small, large = "AMD EPYC, 2 cores", "Intel, 16 cores, H200"
    for first, second, shown in (
        ("held", "not tested", 2),
        ("not tested", "held", 1),
        ("not tested", "not tested", 1),
    ):
        assert len(claims.shown([claim(small, first), claim(large, second)])) == shown
    assert claims.shown([claim(small, "not tested")])
    assert "single references" in claims.page([claim(small, "held")])


def test_what_could_not_be_measured_is_named(tiny, tmp_path):
    store = few(Store(tiny.folder))
    next(iter(store.tasks.values()))["error"] = "too <large>"
    (page,) = report.write(store, tmp_path)
    assert "too &lt;large&gt;" in page.html()


def test_old_figures_go_and_other_files_stay(tiny, tmp_path):
    (tmp_path / "figures").mkdir()
    for name in ("sizes-old.svg", "sizes-of-mine.png"):
        (tmp_path / "figures" / name).write_text("")
    (tmp_path / "index.html").write_text('<figure id="figure-sizes-old"></figure>')
    report.write(few(Store(tiny.folder)), tmp_path)
    assert {path.name for path in (tmp_path / "figures").iterdir()} == {"sizes.svg", "sizes.png", "sizes-of-mine.png"}


def test_only_the_latest_choices_and_files_are_shown(tiny, tmp_path):
    """Another seed, other repeats, or another file of the same name is another result, and not one more graph."""
    store = few(Store(tiny.folder))
    first = next(iter(store.tasks.values()))
    others = [task | {"seed": 9, "run": "1"} for task in store.tasks.values()]
    others.append(first | {"origin": "another", "run": "1"})
    others.append(first | {"repeats": first["repeats"] + 1, "run": "1"})
    store.tasks |= {identity(task): task for task in others}
    (page,) = report.write(store, tmp_path)
    assert page.findings[0].startswith("5 graphs")
    assert "Not shown: 7 earlier measurements" in page.html()
    assert "seed 0;" in page.html()


def test_what_was_measured_with_other_repeats_is_shown(tiny, tmp_path):
    """As long as nothing of the same was measured later: a few graphs may be added with fewer repeats."""
    store = few(Store(tiny.folder))
    first = next(iter(store.tasks.values()))
    added = first | {"key": "added", "graph": "added", "repeats": first["repeats"] + 1}
    store.tasks[identity(added)] = added
    (page,) = report.write(store, tmp_path)
    assert page.findings[0].startswith("6 graphs")
    assert "Not shown" not in page.html()


def test_unknown_verdict_is_refused(tmp_path):
    page = report.Page("sizes", {"name": "m"}, "tiny", tmp_path, "sizes")
    with pytest.raises(troth.TrothError, match="not a verdict"):
        page.claim("a", "b", "maybe")
