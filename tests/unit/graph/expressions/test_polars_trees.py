"""The trees that polars writes of expressions, whose form polars does not promise: any change of them is looked at."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import polars as pl
import pytest

from tests.golden.make_trees import FILE, trees

KNOWN = json.loads(FILE.read_text(encoding="utf-8"))
ROOT = Path(__file__).parents[4]


@pytest.mark.parametrize(("text", "tree"), trees().items())
def test_polars_parses_an_expression_as_it_did(text: str, tree: object) -> None:
    assert tree == KNOWN.get(text), "look at the difference; python -m tests.golden.make_trees keeps it"


def test_no_other_expression_is_kept() -> None:
    assert trees().keys() == KNOWN.keys()


def test_no_later_major_version_is_allowed_than_the_one_that_was_looked_at() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    (allowed,) = (one for one in project["dependencies"] if one.startswith("polars"))
    assert allowed.endswith(f",<{int(pl.__version__.split('.')[0]) + 1}")
