"""``python -m troth``: the same as the command ``troth``."""

import sys

from troth.cli import main

if __name__ == "__main__":
    sys.exit(main())
