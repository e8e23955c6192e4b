"""The program `penstock`: the command line with the verbs of every layer."""

from __future__ import annotations

from penstock.bench.verb import bench
from penstock.cli import main as run

VERBS = (bench,)


def main() -> None:
    run(more=VERBS)


if __name__ == "__main__":
    main()
