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
import os
import subprocess
import sys
import venv
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
PEERS = ["liblinear-official", "numpy", "scipy"]


def parse_arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("comparison", choices=["convex", "l1", "table"])
    parser.add_argument("--data", type=Path, default=os.environ.get("DDIHT_DATA"),
                        help="directory of the data sets (default: $DDIHT_DATA)")
    parser.add_argument("--ddiht", type=Path, default=ROOT / "target" / "release" / "ddiht",
                        help="the program to measure (default: target/release/ddiht)")
    parser.add_argument("--venv", type=Path, default=ROOT / "target" / "benchmarks-venv",
                        help="where the peers are installed (default: target/benchmarks-venv)")
    parser.add_argument("--name", help="name of the recorded run (default: the comparison)")
    parser.add_argument("--only", action="append", default=[], metavar="DATA",
                        help="only this data set: reuters, imdb or ng20; may be repeated")
    parser.add_argument("--l1-tolerance", type=float, default=1e-2, metavar="E",
                        help="-e of LIBLINEAR -s 5 while its C is searched (default: 1e-2, as LIBLINEAR)")
    arguments = parser.parse_args()
    if arguments.data is None:
        parser.error("no data: set DDIHT_DATA or give --data")
    if not arguments.ddiht.exists():
        parser.error(f"{arguments.ddiht} does not exist: run `cargo build --release` first")
    return arguments


def enter_venv(directory: Path) -> None:
    """Continue in the virtual environment, made and filled on first use."""
    if Path(sys.prefix).resolve() == directory.resolve():
        return
    python = directory / "bin" / "python"
    ready = directory / "peers-installed"
    if not ready.exists():
        venv.create(directory, with_pip=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", *PEERS], check=True)
        ready.touch()
    os.execv(python, [python, *sys.argv])


def main() -> int:
    """Run one comparison."""
    arguments = parse_arguments()
    enter_venv(arguments.venv)
    # Not the directory of this script: its name would hide the peer's module.
    sys.path[0] = str(HERE / "compare")
    sys.dont_write_bytecode = True
    import comparisons

    return comparisons.run(arguments)


if __name__ == "__main__":
    sys.exit(main())
