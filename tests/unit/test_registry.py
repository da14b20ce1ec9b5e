"""The table of kinds: names without imports, and a module for each when it is asked for."""

from __future__ import annotations

import pytest

from beam_ensembles.registry import KINDS
from tests.support.interpreter import run_python

OURS = "[name for name in sys.modules if name.startswith('beam_ensembles.')]"


def test_names_are_listed_without_importing_a_kind() -> None:
    code = (
        "from beam_ensembles.registry import KINDS\n"
        "assert len(KINDS) == len(list(KINDS)) and ('model', 'sklearn') in KINDS\n"
        f"print([name for name in {OURS} if name.count('.') > 1 and name.split('.')[1] in"
        " ('handlers', 'combiners', 'routes', 'functions') and not name.endswith('.registry')])"
    )
    assert run_python(code) == "[]"


def test_only_the_kind_that_is_asked_for_is_imported() -> None:
    code = (
        "from beam_ensembles.registry import KINDS\n"
        "kind = KINDS['combine', 'mean']\n"
        "assert kind is KINDS['combine', 'mean']\n"
        f"print([name for name in {OURS} if name.split('.')[1] in ('handlers', 'functions', 'routes')])"
    )
    assert run_python(code) == str([f"beam_ensembles.{part}" for part in _PACKAGES])


_PACKAGES = ("functions", "functions.registry", "handlers", "handlers.registry", "routes", "routes.registry")


@pytest.mark.parametrize("key", KINDS, ids=str)
def test_each_kind_has_the_name_under_which_it_stands(key: tuple[str, str]) -> None:
    kind = KINDS[key]
    assert (kind.kind, kind.name) == key


def test_there_is_no_kind_of_another_name() -> None:
    assert KINDS.get(("model", "sklaern")) is None
    assert ("model", "sklaern") not in KINDS
