"""How the package is built, in numbers: ``python -m bench.structure``, or with another tree's ``src`` as argument.

Calls are those of ``troth match FILE --certify`` in a process where it has run before; they are counted by a profiler
hook, in the calling thread. Lines of code are those without blank lines, comments and docstrings.
"""

from __future__ import annotations

import ast
import io
import subprocess
import sys
import tempfile
import tokenize
from collections import Counter
from collections.abc import Iterator
from contextlib import redirect_stdout
from pathlib import Path
from types import FrameType

ONCE = ("find_engine", "find_engines", "read_options", "read", "check_seed", "check_threads")


def modules_of(source: Path) -> dict[str, ast.Module]:
    """Every module of troth by name, parsed."""
    found = {}
    for path in sorted((source / "troth").rglob("*.py")):
        parts = path.relative_to(source).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = ast.parse(path.read_text(encoding="utf-8"))
    return found


def imports_of(tree: ast.Module, modules: dict[str, ast.Module]) -> Iterator[str]:
    """The modules of troth that a module imports anywhere."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "troth":
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                yield inner if inner in modules else str(node.module)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in modules)


def in_cycles(modules: dict[str, ast.Module]) -> int:
    """How many modules reach themselves by imports."""
    direct = {name: set(imports_of(tree, modules)) - {name} for name, tree in modules.items()}
    reach = {name: set(found) for name, found in direct.items()}
    changed = True
    while changed:
        changed = False
        for found in reach.values():
            more = set().union(*(reach.get(name, set()) for name in found)) - found
            found |= more
            changed |= bool(more)
    return sum(name in found for name, found in reach.items())


def imports_in_functions(modules: dict[str, ast.Module]) -> int:
    """How many imports of troth stand inside functions."""
    functions = (
        node for tree in modules.values() for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.Lambda)
    )
    inside = {
        id(node): node
        for function in functions
        for node in ast.walk(function)
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "troth"
    }
    return len(inside)


def code_lines(path: Path) -> int:
    """Lines with code."""
    text = path.read_text(encoding="utf-8")
    documented: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node) is not None:
            documented.update(range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1))
    silent = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in silent:
            lines.update(range(token.start[0], token.end[0] + 1))
    return len(lines - documented)


def calls(source: Path) -> dict[str, int]:
    """Python calls in the files of troth, the files, and the calls from one file to another; the named ones apart."""
    import troth
    from troth.cli import main

    counts: Counter[str] = Counter()
    files: set[str] = set()
    home = str(source / "troth")

    def watch(frame: FrameType, event: str, _: object) -> None:
        name = frame.f_code.co_filename
        if event != "call" or not name.startswith(home):
            return
        caller = frame.f_back.f_code.co_filename if frame.f_back else ""
        counts["Python calls"] += 1
        counts["calls from another file of troth"] += caller.startswith(home) and caller != name
        files.add(name)
        function = frame.f_code.co_name
        if function in ONCE and (function != "read" or name.endswith("engines.py")):
            counts[f"calls of {function}"] += 1

    with tempfile.TemporaryDirectory() as folder, redirect_stdout(io.StringIO()):
        path = str(Path(folder) / "g.mtx")
        troth.write(troth.generate("rmat", scale=8, seed=1), path)
        for hook in (None, None, watch):
            sys.setprofile(hook)
            main(["match", path, "--certify"])
            sys.setprofile(None)
    return {**counts, "files": len(files)}


def tracked_bytes(root: Path) -> tuple[int, int]:
    """Bytes of all tracked files, and of figures and pages among them."""
    listed = subprocess.run(["git", "ls-files"], cwd=root, capture_output=True, text=True).stdout.splitlines()
    sizes = {name: (root / name).stat().st_size for name in listed if (root / name).is_file()}
    made = (".svg", ".png", ".html")
    return sum(sizes.values()), sum(size for name, size in sizes.items() if name.endswith(made))


def main() -> None:
    """Print the table."""
    source = Path(sys.argv[1] if len(sys.argv) > 1 else "src").resolve()
    sys.path.insert(0, str(source))
    modules, paths = modules_of(source), sorted((source / "troth").rglob("*.py"))
    texts = [path.read_text(encoding="utf-8") for path in paths]
    lines = {path: code_lines(path) for path in paths}
    everything, generated = tracked_bytes(source.parent)
    typed = subprocess.run(
        [sys.executable, "-m", "mypy", "--ignore-missing-imports", str(source / "troth")],
        cwd=source.parent,
        capture_output=True,
        text=True,
    )
    rows: dict[str, object] = {
        **calls(source),
        "modules in import cycles": in_cycles(modules),
        "imports inside functions": imports_in_functions(modules),
        "mypy": (typed.stdout.splitlines() or ["not installed"])[-1],
        "loops that take chunks by hand": sum(text.count("take(cursor") for text in texts),
        "lines of code in the wheel": sum(lines.values()),
        "of these, measuring": sum(count for path, count in lines.items() if "bench" in path.parts),
        "longest file, lines": max(text.count("\n") for text in texts),
        "tracked bytes": f"{everything:,}",
        "of these, figures and pages": f"{generated:,}",
    }
    for name, value in rows.items():
        print(f"{name:36} {value}")


if __name__ == "__main__":
    main()
