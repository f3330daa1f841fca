"""Peak memory of a matching, measured from outside: a process of its own, and what the system says of it.

    python -m bench.memory rmat:scale=18 suitor 2

The child makes the graph, matches a tiny one (which loads the compiled code), has the system forget the peak so far,
and matches. The system's peak after that, less what the process held before, is what matching took, whoever
allocated it. Linux only: elsewhere a peak cannot be forgotten, and that of making the graph is higher.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from bench.machine import environment
from troth.errors import TrothError

FORGET = Path("/proc/self/clear_refs")


def measure(spec: str, algorithm: str, threads: int) -> dict[str, Any]:
    """Bytes: ``held`` before matching, ``peak`` while matching, ``graph_bytes`` of the graph's arrays."""
    if not FORGET.exists():
        raise TrothError("memory is measured on Linux alone, where a process can have its peak forgotten")
    words = [sys.executable, "-m", "bench.memory", spec, algorithm, str(threads)]
    done = subprocess.run(words, env=environment(), capture_output=True, text=True, check=False)
    if done.returncode:
        raise TrothError(f"{spec}: the process that measures memory ended with {done.returncode}: {_last(done.stderr)}")
    return json.loads(done.stdout)


def _last(text: str) -> str:
    return text.strip().splitlines()[-1] if text.strip() else "no message"


def resident(field: str, process: int | str = "self") -> int:
    """Bytes of a process that are in memory: VmRSS now, VmHWM at the peak, RssAnon those of no file; 0 at its end."""
    found = re.search(rf"^{field}:\s*(\d+) kB$", Path(f"/proc/{process}/status").read_text(), re.MULTILINE)
    return 1024 * int(found[1]) if found else 0


def main(spec: str, algorithm: str, threads: str) -> None:
    """What the child does."""
    import ctypes
    import gc

    import troth

    graph = troth.read(spec)
    graph.bits_range()
    tiny = troth.generate("path", n=64, weights="unit", dtype=graph.weights.dtype)
    troth.match(tiny, algorithm=algorithm, device="cpu", threads=int(threads))
    gc.collect()
    if hasattr(libc := ctypes.CDLL(None), "malloc_trim"):
        libc.malloc_trim(0)  # else matching could live in memory that making the graph left behind
    FORGET.write_text("5")
    held = resident("VmRSS")
    m = troth.match(graph, algorithm=algorithm, device="cpu", threads=int(threads))
    peak = resident("VmHWM")
    size = graph.indptr.nbytes + graph.indices.nbytes + graph.weights.nbytes
    print(
        json.dumps(
            {"n": graph.n, "m": graph.m, "graph_bytes": size, "held": held, "peak": peak, "pairs": m.cardinality}
        )
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
