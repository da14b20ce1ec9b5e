"""The page of defects names every repair."""

import pkgutil
import re
from pathlib import Path

from beam_ensembles import beam_repairs

PAGE = Path(__file__).parents[3] / "docs" / "explanation" / "beam-defects.md"


def test_every_repair_is_on_the_page() -> None:
    modules = {found.name for found in pkgutil.iter_modules(beam_repairs.__path__)}
    rows = re.findall(r"^\| .* \|([^|]*)\|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert {name for row in rows for name in re.findall("`([a-z_]+)`", row)} == modules
