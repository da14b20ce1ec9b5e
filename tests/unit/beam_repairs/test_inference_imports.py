"""What Beam's inference modules are imported with, and without."""

from __future__ import annotations

from pathlib import Path

import apache_beam
import pytest

from beam_ensembles.beam_repairs import inference_imports
from tests.support.interpreter import run_python

_FAKE_TORCH = "raise AssertionError('torch was imported')\n"


def test_it_is_written_for_the_beam_that_is_installed() -> None:
    assert apache_beam.__version__.startswith(f"{inference_imports.BEAM_VERSION}.")


def test_base_comes_without_torch_and_measures_memory(tmp_path: Path) -> None:
    (tmp_path / "torch.py").write_text(_FAKE_TORCH)
    code = (
        "from beam_ensembles.beam_repairs import inference_imports\n"
        "base = inference_imports.import_base()\n"
        "import apache_beam.ml.inference.base as plain\n"
        "assert plain is base and base.resource is not None\n"
        "print('torch' in sys.modules, 'apache_beam.ml.inference.model_manager' in sys.modules)\n"
    )
    assert run_python(code, tmp_path) == "False False"


def test_base_that_was_imported_before_gets_its_resource_back() -> None:
    code = (
        "sys.modules['torch'] = None\n"
        "import apache_beam.ml.inference.base as base\n"
        "assert base.resource is None\n"
        "from beam_ensembles.beam_repairs import inference_imports\n"
        "print(inference_imports.import_base() is base, base.resource.__name__)\n"
    )
    assert run_python(code) == "True resource"


def test_xgboost_inference_needs_no_datatable() -> None:
    pytest.importorskip("xgboost")
    code = (
        "from beam_ensembles.beam_repairs import inference_imports\n"
        "module = inference_imports.import_handlers('xgboost_inference')\n"
        "print(module.XGBoostModelHandlerNumpy.__name__, 'datatable' in sys.modules)\n"
    )
    assert run_python(code) == "XGBoostModelHandlerNumpy False"


_SEEN = (
    "import os\n"
    "from beam_ensembles.beam_repairs import inference_imports\n"
    "class Seen:\n"
    "    def find_spec(self, name, *_):\n"
    "        if name in ('torch', 'sklearn', 'xgboost'):\n"
    "            print(name, os.environ.get('OMP_WAIT_POLICY'))\n"
    "sys.meta_path.insert(0, Seen())\n"
)


def test_openmp_waits_without_spinning_for_boosted_trees_but_not_for_pytorch() -> None:
    pytest.importorskip("torch")
    pytest.importorskip("xgboost")
    code = (
        f"{_SEEN}"
        "inference_imports.import_handlers('xgboost_inference')\n"
        "inference_imports.import_handlers('pytorch_inference')\n"
        "print('after', os.environ.get('OMP_WAIT_POLICY'))\n"
    )
    seen = run_python(code).splitlines()
    assert {"xgboost passive", "torch None", "after None"} <= set(seen)


def test_what_the_user_says_of_openmp_holds() -> None:
    pytest.importorskip("xgboost")
    code = (
        f"{_SEEN}"
        "os.environ['OMP_WAIT_POLICY'] = 'active'\n"
        "inference_imports.import_handlers('xgboost_inference')\n"
        "print('after', os.environ.get('OMP_WAIT_POLICY'))\n"
    )
    assert {"xgboost active", "after active"} <= set(run_python(code).splitlines())
