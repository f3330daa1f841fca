"""``python -m troth.gsn IN OUT THREADS [cpu|cuda]``: the course project's program for strongest neighbours."""

import sys

from troth.cli._course import get_strongest

if __name__ == "__main__":
    sys.exit(get_strongest())
