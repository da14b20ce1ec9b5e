"""``python -m scripts.tool [--in FOLDER] COMMAND…``: runs a command with the toolchains that setup found."""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys

from scripts import toolchains
from scripts.program import own_temporary_folder
from scripts.shell import Missing
from scripts.toolchains import go, java

_REQUIRED = {"go": go.require, "gofmt": go.require, "java": java.require, "mvn": java.require}


def main() -> int:
    """Runs the command; gives its exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--in", dest="folder", default=".", help="folder to run it in")
    parser.add_argument("command", nargs=argparse.REMAINDER, help="the command and its arguments")
    args = parser.parse_args()
    name = args.command[0] if args.command else parser.error("which command?")
    try:
        _REQUIRED.get(name, str)()
    except Missing as exc:
        print(f"{name}: {exc}", file=sys.stderr)
        return 1
    with own_temporary_folder():
        env = toolchains.environment()
        path = shutil.which(name, path=env["PATH"])
        if path is None:
            print(f"{name}: not found", file=sys.stderr)
            return 1
        return subprocess.run([path, *args.command[1:]], env=env, cwd=args.folder, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
