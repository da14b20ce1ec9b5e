"""The names that users import."""

from __future__ import annotations

import subprocess
import sys

import beam_ensembles


def test_the_names_are_these() -> None:
    names = [
        "Ensemble",
        *("EnsembleModelHandler", "ExpansionService", "InferenceError", "InvalidEnsemble", "RunEnsemble"),
        "ensemble_metrics",
    ]
    assert sorted(beam_ensembles.__all__) == sorted([*names, "__version__"])
    assert [getattr(beam_ensembles, name).__name__ for name in names] == names


def test_an_unknown_name_is_an_attribute_error() -> None:
    assert not hasattr(beam_ensembles, "RunEnsembles")


def test_the_package_itself_does_not_import_beam() -> None:
    code = "import sys, beam_ensembles, beam_ensembles.graph; sys.exit('apache_beam' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
