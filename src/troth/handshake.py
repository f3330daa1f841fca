"""``python -m troth.handshake IN OUT THREADS [cpu|cuda]``: the course project's program for matchings."""

import sys

from troth.cli._course import get_matching

if __name__ == "__main__":
    sys.exit(get_matching())
