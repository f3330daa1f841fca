"""Standard input: what comes is kept in a temporary file, for readers go over their bytes more than once."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from troth.errors import TrothError
from troth.files import BOM, open_binary, refusing
from troth.io.atomic import removed_if_ended

NAME = "-"  # in place of a file's name
WHERE = "standard input"
# How formats begin that can be told by that; any other text is a table of edges.
BEGINNINGS = {b"%%MatrixMarket": ".mtx", b"PK\x03\x04": ".npz", b"PAR1": ".parquet"}


@contextmanager
def kept() -> Iterator[Path]:
    """A file with all that comes from standard input; refusals that name the file name standard input."""
    stream = getattr(sys.stdin, "buffer", None)
    if stream is None:
        raise TrothError(f"{WHERE}: it is closed; give the name of a file")
    with TemporaryDirectory(prefix="troth-") as folder, removed_if_ended(Path(folder)):
        path = Path(folder) / "input"
        try:
            with refusing(WHERE), open(path, "wb") as file:
                shutil.copyfileobj(stream, file)
            yield path
        except TrothError as error:
            raise TrothError(str(error).replace(str(path), WHERE)) from None


def extension_of(path: Path) -> str:
    """The extension of a format that the content begins as, gzipped or not; a table's where nothing tells."""
    with refusing(path), open_binary(path) as stream:
        begin = stream.read(64).removeprefix(BOM)
    return next((suffix for mark, suffix in BEGINNINGS.items() if begin.startswith(mark)), ".txt")
