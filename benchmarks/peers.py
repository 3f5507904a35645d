#!/usr/bin/env python3
"""Compare `ddiht` with the programs people use today: time, objective, loading, memory, bandwidth.

    cargo build --release
    export DDIHT_DATA=...                         # a directory with the .svm.xz files
    python3 benchmarks/peers.py convex sparse     # or any of the parts below, or `all`
    python3 benchmarks/peers.py all --quick       # small data, in about three minutes

The peers are installed by pip, in the versions of benchmarks/peers.txt, into a virtual environment of their own. Ours and
theirs run in turn, with the same objective, and every model is judged by the same numpy code. Each part is recorded under
benchmarks/runs/<date>-<name>-<part>/. Exit code 1 means that a bar was missed.
"""

import argparse
import importlib
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
# Not the directory of this script: its name would hide a peer's module.
sys.path[0] = str(HERE / "compare")
sys.dont_write_bytecode = True
import environment  # noqa: E402  (found by the line above)

PARTS = {
    "convex": "k = d: time to within 1e-3 of the optimum",
    "sparse": "k features: time to an objective below that of an l1 penalty searched to k and refitted",
    "best_subset": "k features, against best-subset solvers at sizes they can finish",
    "loading": "bytes a second from LIBSVM text and from shards",
    "bandwidth": "passes over the data as a share of what memory can give",
    "scaling": "time and memory against cores and rows",
}


def parse_arguments() -> argparse.Namespace:
    """The command line."""
    listed = "\n".join(f"  {part.replace('_', '-'):12} {what}" for part, what in PARTS.items())
    parser = argparse.ArgumentParser(description=f"{__doc__}\nparts:\n{listed}",
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    names = [part.replace("_", "-") for part in PARTS]
    parser.add_argument("part", nargs="+", choices=[*names, "all"])
    environment.add_options(parser, "peers-venv")
    parser.add_argument("--quick", action="store_true", help="small data and one repeat")
    parser.add_argument("--repeats", type=int, help="how often everything is timed (default: 5; quick: 1)")
    parser.add_argument("--only", action="append", default=[], metavar="DATA",
                        help="only data sets whose name begins so; may be repeated")
    parser.add_argument("--k", type=int, action="append", metavar="K", help="only this k in `sparse`; may be repeated")
    parser.add_argument("--name", help="begin of the name of the recorded runs (default: peers)")
    arguments = environment.parse(parser)
    arguments.repeats = arguments.repeats or (1 if arguments.quick else 5)
    if "all" in arguments.part:
        arguments.part = names
    return arguments


def main() -> int:
    """Run the parts."""
    arguments = parse_arguments()
    environment.enter_venv(arguments.venv, (HERE / "peers.txt").read_text().split(), needed=False)
    passed = [run(part.replace("-", "_"), arguments) for part in arguments.part]
    return 0 if all(passed) else 1


def run(part: str, arguments: argparse.Namespace) -> bool:
    """One part: measure, record, judge."""
    return importlib.import_module(f"parts.{part}").run(arguments).write(arguments)


if __name__ == "__main__":
    sys.exit(main())
