"""``python -m scripts.file_schema``: writes the JSON Schema of ensemble files into the package."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Final

from beam_ensembles.graph.json_schema.document import file_schema
from beam_ensembles.graph.kinds import Kind
from beam_ensembles.registry import OWN_KINDS
from scripts.layout import ROOT, relative
from scripts.program import say

FILE: Final = ROOT / "python_transforms" / "beam_ensembles" / "ensemble.schema.json"


def written(kinds: Iterable[Kind]) -> str:
    """Returns the schema's text."""
    return f"{json.dumps(file_schema(list(kinds)), indent=2, ensure_ascii=False)}\n"


def main() -> None:
    """Writes the schema."""
    FILE.write_text(written(OWN_KINDS.values()), encoding="utf-8")
    say(relative(FILE))


if __name__ == "__main__":
    main()
