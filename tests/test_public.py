"""What tools see of the public names: signatures, types in docstrings, the stub, mypy and Jedi."""

import ast
import inspect
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

import troth

docscrape = pytest.importorskip("numpydoc.docscrape", reason="numpydoc is not installed")
ClassDoc, FunctionDoc = docscrape.ClassDoc, docscrape.FunctionDoc

PACKAGE = Path(troth.__file__).parent
INTEROP = ("networkx", "networkx_info", "pyamg", "pyg", "scipy", "torch")
GRAPHS = (
    "graph",
    "obj",
    "source",
    "family",
    "comm",
    "A",
    "G",
    "X",
    "result",
    "name",
    "edge_index",
)  # what may come first
THEN = ("matching", "path", "groups")  # what may come second
# Other packages call these, or have their like, and say what comes in which order.
FOREIGN = {"graclus": 3, "can_run": 3, "should_run": 3}


def functions_and_classes():
    """Every public function and class under its full name."""
    for package in (troth, import_module("troth.mpi"), import_module("troth.viz")):
        for name in package.__all__:
            if callable(thing := getattr(package, name)):
                yield f"{package.__name__}.{name}", thing
    for name in INTEROP:
        if name == "pyg" and not (find_spec("torch") and find_spec("torch_geometric")):
            continue
        module = import_module(f"troth.interop.{name}")
        for key, thing in vars(module).items():
            if not key.startswith("_") and getattr(thing, "__module__", "") == module.__name__ and callable(thing):
                yield f"{module.__name__}.{key}", thing


PUBLIC = dict(functions_and_classes())
FUNCTIONS = [name for name, thing in PUBLIC.items() if inspect.isfunction(thing)]
CLASSES = [name for name, thing in PUBLIC.items() if inspect.isclass(thing)]


def methods(kind):
    """The public methods that a class itself defines."""
    for name, thing in vars(kind).items():
        function = getattr(thing, "__func__", thing)
        if not name.startswith("_") and inspect.isfunction(function):
            yield name, function


def parameters(function):
    """The parameters of a signature but for ``self`` and ``cls``, under the names that docstrings use."""
    stars = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
    found = inspect.signature(function).parameters.values()
    return {stars.get(each.kind, "") + each.name: each for each in found if each.name not in ("self", "cls")}


def documented(doc, *sections):
    """The names in some sections of a docstring, each with its type."""
    entries = [entry for section in sections for entry in doc[section]]
    return {name: entry.type for entry in entries for name in entry.name.split(", ")}


def check_types(where, wanted, found):
    untyped = [name for name in wanted if not found.get(name, "").removesuffix("optional").rstrip(", ")]
    assert not untyped, f"{where}: no type in the docstring for {', '.join(untyped)}"
    gone = [name for name in found if name not in wanted]
    assert not gone, f"{where}: no such parameter: {', '.join(gone)}"


@pytest.mark.parametrize("name", FUNCTIONS)
def test_docstrings_give_a_type_for_every_parameter(name):
    function = PUBLIC[name]
    doc = FunctionDoc(function)
    assert doc["Summary"]
    check_types(name, parameters(function), documented(doc, "Parameters"))


@pytest.mark.parametrize("name", CLASSES)
def test_docstrings_give_a_type_for_every_field_and_every_parameter_of_methods(name):
    kind = PUBLIC[name]
    doc = ClassDoc(kind, config={"show_class_members": False})
    assert doc["Summary"]
    if not issubclass(kind, Exception):
        found = documented(doc, "Parameters", "Attributes")
        check_types(name, parameters(kind), {key: value for key, value in found.items() if key in parameters(kind)})
        assert all(found.values())
    for method, function in methods(kind):
        check_types(f"{name}.{method}", parameters(function), documented(FunctionDoc(function), "Parameters"))


@pytest.mark.parametrize("name", [name for name in PUBLIC if not name.endswith("Error")])
def test_everything_is_annotated(name):
    for where, function in [(name, PUBLIC[name]), *(methods(PUBLIC[name]) if inspect.isclass(PUBLIC[name]) else ())]:
        bare = [key for key, each in parameters(function).items() if each.annotation is inspect.Parameter.empty]
        assert not bare, f"{where}: {', '.join(bare)}"
        if inspect.isfunction(function):
            assert inspect.signature(function).return_annotation is not inspect.Signature.empty, where


@pytest.mark.parametrize("name", FUNCTIONS)
def test_what_follows_the_graph_and_the_matching_is_given_by_name(name):
    found = list(parameters(PUBLIC[name]).values())
    free = [each.name for each in found if each.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD]
    short = name.rpartition(".")[2]
    if short in FOREIGN:
        assert len(free) == FOREIGN[short]
        return
    assert all(first in GRAPHS for first in free[:1])
    assert all(second in THEN for second in free[1:2])
    assert len(free) <= 2
    assert not {"g", "m", "mate", "mates"} & {each.name for each in found}


# ---- the stub ----


def test_the_stub_declares_what_is_there():
    tree = ast.parse((PACKAGE / "__init__.pyi").read_text())
    imported = {}
    for node in tree.body:
        if isinstance(node, ast.ImportFrom):
            imported |= {alias.asname: f"{node.module}.{alias.name}" for alias in node.names}
    listed = next(ast.literal_eval(node.value) for node in tree.body if isinstance(node, ast.Assign))
    assert sorted(listed) == sorted(troth.__all__)
    packages = set(dir(troth)) - set(troth.__all__)
    assert set(imported) | {"__version__"} == set(troth.__all__) | packages
    for name, where in imported.items():
        module, _, attribute = where.rpartition(".")
        assert getattr(import_module(module), attribute) is getattr(troth, name)
    assert (PACKAGE / "py.typed").exists()


def test_jedi_completes_the_lazy_names():
    jedi = pytest.importorskip("jedi")
    project = jedi.Project(PACKAGE.parent, added_sys_path=[str(PACKAGE.parent)])
    source = "import troth\ntroth.ma"
    found = {each.name: each for each in jedi.Script(source, project=project).complete(2, len("troth.ma"))}
    assert "match" in found
    signatures = jedi.Script("import troth\ntroth.match(", project=project).get_signatures(2, len("troth.match("))
    assert [each.name for each in signatures[0].params][:3] == ["graph", "algorithm", "device"]


def test_mypy_sees_functions_behind_the_lazy_names(tmp_path, monkeypatch):
    api = pytest.importorskip("mypy.api")
    script = tmp_path / "script.py"
    script.write_text("import troth\nreveal_type(troth.match)\ntroth.match('path:n=3', 'greedy')\n")
    monkeypatch.setenv("MYPYPATH", str(PACKAGE.parent))
    monkeypatch.chdir(tmp_path)
    words = ["--follow-imports=silent", "--ignore-missing-imports", "--no-site-packages"]  # NumPy's types take long
    told = api.run([*words, "--cache-dir", str(tmp_path / "cache"), str(script)])[0].splitlines()
    assert "def (graph: Any, *, algorithm: str =" in told[0]
    assert 'Too many positional arguments for "match"' in told[1]
