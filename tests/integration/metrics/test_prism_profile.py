"""A pipeline on a real Prism notices inputs that differ from their profile: metrics count them, and a worker warns."""

from __future__ import annotations

import logging
from pathlib import Path

import apache_beam as beam
import numpy as np
import pandas as pd
import pytest
from apache_beam.options.pipeline_options import PipelineOptions

from beam_ensembles import RunEnsemble, ensemble_metrics
from beam_ensembles.cli.main import main
from beam_ensembles.execution import input_watch

# Sometimes Beam 2.77's Python client waits forever for a job that Prism has ended.
pytestmark = pytest.mark.flaky(reruns=1, only_rerun=["Timeout"])

ROWS = 3_000
FILE = """\
ensemble: payments
inputs: {amount: double, country: string}
profile: {uri: payments.profile.json}
nodes:
  twice: {apply: sql, select: {doubled: "amount * 2"}}
  home: {apply: sql, select: {at_home: "country = 'DE'"}}
"""


def payments(seed: int) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    return pd.DataFrame({"amount": random.normal(50, 10, ROWS), "country": random.choice(["DE", "FR"], ROWS)})


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """The ensemble, with the profile of what it was trained on."""
    found = tmp_path / "payments.yaml"
    found.write_text(FILE.replace("profile: {uri: payments.profile.json}\n", ""))
    payments(0).to_parquet(tmp_path / "trained.parquet")
    profile = str(tmp_path / "payments.profile.json")
    flags = ["--input", str(tmp_path / "trained.parquet"), "--profile", profile]
    assert main(["evaluate", str(found), *flags]) == 0
    found.write_text(FILE)
    return found


@pytest.mark.parametrize("shift", [0, 10], ids=["clean", "shifted by one standard deviation"])
def test_metrics_count_and_a_worker_warns(
    shift: float, prism: str, file: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(
        logging.WARNING, input_watch.__name__
    )  # 'run' in this process, of another test, hides it
    flags = ["--runner=PortableRunner", f"--job_endpoint={prism}", "--environment_type=LOOPBACK"]
    rows = payments(1)
    rows["amount"] += shift
    pipeline = beam.Pipeline(options=PipelineOptions(flags))
    given = pipeline | beam.Create([beam.Row(amount=float(a), country=str(c)) for a, c in rows.to_numpy()])
    given | RunEnsemble(file)
    result = pipeline.run()
    result.wait_until_finish()
    (found,) = ensemble_metrics(result)
    amount, country = found.input("amount"), found.input("country")
    assert amount.compared_rows == country.compared_rows > 0
    assert amount.compared_rows % 500 == 0, "full windows"
    assert country.drifted_windows == 0
    said = [one.getMessage() for one in caplog.records if "differs from its profile" in one.getMessage()]
    if shift:
        assert amount.drifted_windows == amount.windows > 0
        assert len(said) == 1
        assert "ensemble 'payments': the input 'amount' differs from its profile" in said[0]
    else:
        assert amount.drifted_windows == 0
        assert said == []
