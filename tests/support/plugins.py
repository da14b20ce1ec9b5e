"""Distributions that add kinds, as an installer leaves them in a folder."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import textwrap
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from scripts.layout import ROOT

KIND: Final = """
from beam_ensembles.graph.kinds import Kind
from beam_ensembles.graph.options import Options

class {name}(Kind):
    kind, name = {key!r}, {value!r}
    summary, takes, gives = "Copies.", "One column.", "The same."
    options = Options

    def check(self, node):
        return dict.fromkeys((one.column for one in node.spec.outputs), *node.inputs.values())

    def load(self, node):
        return lambda columns: dict.fromkeys(node.outputs, columns[node.spec.columns[0]])
"""
"""A kind that gives the column that it reads."""


def install(
    folder: Path, name: str, kinds: Mapping[str, str], *, version: str = "1.0", code: str = ""
) -> None:
    """Puts a distribution with one module into a folder.

    Args:
        folder: A folder of Python's path.
        name: The distribution's name; its module is named so with ``_`` for each ``-``.
        kinds: The value of each entry point, by its name.
        version: The distribution's version.
        code: The module.
    """
    module = name.replace("-", "_")
    folder.mkdir(exist_ok=True)
    (folder / f"{module}.py").write_text(textwrap.dedent(code), encoding="utf-8")
    info = folder / f"{module}-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n", encoding="utf-8"
    )
    lines = [f"{point} = {place}" for point, place in kinds.items()]
    (info / "entry_points.txt").write_text(
        "\n".join(["[beam_ensembles.kinds]", *lines, ""]), encoding="utf-8"
    )


def copying(key: str, value: str, name: str = "CopyKind") -> str:
    """Returns the code of a kind that gives the column that it reads.

    Args:
        key: A node's key, such as ``model``.
        value: Its value.
        name: The class's name.
    """
    return KIND.format(key=key, value=value, name=name)


EXAMPLE: Final = ROOT / "examples" / "plugin"
"""The distribution of the examples."""


def install_example(folder: Path) -> None:
    """Builds the wheel of ``examples/plugin`` and puts what is in it into a folder, as an installer does."""
    with tempfile.TemporaryDirectory() as wheels:
        build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", wheels]
        subprocess.run(build, cwd=EXAMPLE, check=True, stdout=subprocess.DEVNULL)
        (wheel,) = Path(wheels).glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(folder)
