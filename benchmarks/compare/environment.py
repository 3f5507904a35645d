"""Where comparisons run: their common options, and a virtual environment of their own."""

import argparse
import os
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent


def add_options(parser: argparse.ArgumentParser, environment: str) -> None:
    """The options of every comparison; its peers are installed into target/ENVIRONMENT."""
    parser.add_argument("--data", type=Path, default=os.environ.get("DDIHT_DATA"),
                        help="directory of the data sets (default: $DDIHT_DATA)")
    parser.add_argument("--ddiht", type=Path, default=ROOT / "target" / "release" / "ddiht",
                        help="the program to measure (default: target/release/ddiht)")
    parser.add_argument("--venv", type=Path, default=ROOT / "target" / environment,
                        help=f"where the peers are installed (default: target/{environment})")


def parse(parser: argparse.ArgumentParser) -> argparse.Namespace:
    """The command line, with data and a program to measure."""
    arguments = parser.parse_args()
    if arguments.data is None:
        parser.error("no data: set DDIHT_DATA or give --data")
    if not arguments.ddiht.exists():
        parser.error(f"{arguments.ddiht} does not exist: run `cargo build --release` first")
    return arguments


def enter_venv(directory: Path, peers: list[str], needed: bool = True) -> None:
    """Continue in the virtual environment, made and filled with `peers` on first use.

    Peers that are not `needed` may be missing afterwards: one that has no package for this Python is left out.
    """
    if Path(sys.prefix).resolve() == directory.resolve():
        return
    python = directory / "bin" / "python"
    ready = directory / "peers-installed"
    wanted = "\n".join(peers)
    if not ready.exists() or ready.read_text() not in ("", wanted):
        venv.create(directory, with_pip=True)
        pip = [python, "-m", "pip", "install", "--quiet"]
        if subprocess.run([*pip, *peers], check=needed).returncode != 0:
            for peer in peers:
                subprocess.run([*pip, peer], check=False)
        ready.write_text(wanted)
    os.execv(python, [python, *sys.argv])
