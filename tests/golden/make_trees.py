"""``python -m tests.golden.make_trees``: writes how polars parses each expression, to be looked at."""

from __future__ import annotations

import json
import pathlib

from beam_ensembles.spec.expressions import parse
from tests.support.expressions import EXPRESSIONS

FILE = pathlib.Path(__file__).parent / "expressions" / "trees.json"


def trees() -> dict[str, object]:
    """Returns the tree that polars makes of each expression that tests use, by its text."""
    return {text: json.loads(parse(text).meta.serialize(format="json")) for text in EXPRESSIONS}


if __name__ == "__main__":
    FILE.parent.mkdir(exist_ok=True)
    lines = ",\n".join(f"{json.dumps(text)}: {json.dumps(tree)}" for text, tree in trees().items())
    FILE.write_text(f"{{\n{lines}\n}}\n", encoding="utf-8")
