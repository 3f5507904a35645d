#!/usr/bin/env python3
"""Compare `ddiht` with LIBLINEAR on the same data and the same objective.

    cargo build --release
    export DDIHT_DATA=...                    # a directory with the .svm.xz files
    python3 benchmarks/liblinear.py convex   # k = d: the same optimum?
    python3 benchmarks/liblinear.py l1       # k = 1000: l1 penalty searched to k, then refitted
    python3 benchmarks/liblinear.py table    # the results table of the README

The peers (liblinear-official, numpy, scipy) are installed by pip into a virtual environment of their
own. Every run is recorded under benchmarks/runs/<date>-<name>/. Exit code 1 means a check failed.
"""

import argparse
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
# Not the directory of this script: its name would hide a peer's module.
sys.path[0] = str(HERE / "compare")
sys.dont_write_bytecode = True
import environment  # noqa: E402  (found by the line above)

PEERS = ["liblinear-official", "numpy", "scipy"]


def parse_arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("comparison", choices=["convex", "l1", "table"])
    environment.add_options(parser, "benchmarks-venv")
    parser.add_argument("--name", help="name of the recorded run (default: the comparison)")
    parser.add_argument("--only", action="append", default=[], metavar="DATA",
                        help="only this data set: reuters, imdb or ng20; may be repeated")
    parser.add_argument("--l1-tolerance", type=float, default=1e-2, metavar="E",
                        help="-e of LIBLINEAR -s 5 while its C is searched (default: 1e-2, as LIBLINEAR)")
    return environment.parse(parser)


def main() -> int:
    """Run one comparison."""
    arguments = parse_arguments()
    environment.enter_venv(arguments.venv, PEERS)
    import comparisons

    return comparisons.run(arguments)


if __name__ == "__main__":
    sys.exit(main())
