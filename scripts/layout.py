"""Where things are in a checkout."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
REQUIREMENTS = ROOT / "requirements"
GO_EXAMPLES = ROOT / "go_examples"
GO_MODULE = GO_EXAMPLES / "ensemble"
"""The library, a module of its own; Go's workspace in ``GO_EXAMPLES`` has both."""
MAVEN_PROJECT = ROOT / "java_examples"
EXAMPLES = ROOT / "examples"

VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
UV = VENV / "bin" / "uv"

BUILD = ROOT / "build"
LOGS = BUILD / "logs"
TOOLS = BUILD / "tools"
DEMO = BUILD / "demo"
PRISM = TOOLS / "prism"


def relative(path: Path) -> str:
    """Returns ``path`` as a person in the checkout would type it."""
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else str(path)
