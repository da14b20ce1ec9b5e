"""What Beam's users import beside this project works with the versions that it locks."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

from tests.support.patience import SECONDS

ENSEMBLE = """\
ensemble: doubled
inputs: {x: double}
nodes:
  twice: {apply: sql, select: {y: "x * 2"}, outputs: {y: {}}}
"""

FROM_YAML = """\
import apache_beam as beam
from apache_beam.yaml.yaml_transform import YamlTransform

with beam.Pipeline() as p:
    rows = p | YamlTransform('''
type: chain
transforms:
  - type: ReadFromCsv
    config: {path: rows.csv}
  - type: PyTransform
    config: {constructor: beam_ensembles.RunEnsemble, kwargs: {file: ensemble.yaml}}
''')
    rows | beam.Map(lambda row: f"{row.x} {row.y}") | beam.io.WriteToText("scored", num_shards=1)
"""

AS_A_DATAFRAME = """\
import apache_beam as beam
from apache_beam.dataframe.convert import to_dataframe, to_pcollection
from beam_ensembles import RunEnsemble

with beam.Pipeline() as p:
    rows = p | beam.Create([beam.Row(x=1.5), beam.Row(x=2.0)])
    frame = to_dataframe(rows | RunEnsemble("ensemble.yaml"))
    frame["z"] = frame.y + 1
    to_pcollection(frame) | beam.Map(lambda row: f"{row.x} {row.z}") | beam.io.WriteToText("scored", num_shards=1)
"""

IN_A_NOTEBOOK = """\
import apache_beam as beam
import apache_beam.runners.interactive.interactive_beam as ib
from apache_beam.runners.interactive.interactive_runner import InteractiveRunner
from beam_ensembles import RunEnsemble

p = beam.Pipeline(InteractiveRunner())
rows = p | beam.Create([beam.Row(x=1.5), beam.Row(x=2.0)])
print(ib.collect(rows | RunEnsemble("ensemble.yaml"))["y"].sum())
"""


def run(code: str, folder: Path) -> str:
    (folder / "ensemble.yaml").write_text(ENSEMBLE)
    (folder / "rows.csv").write_text("x\n1.5\n2.0\n")
    code = textwrap.dedent(code)
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, timeout=SECONDS, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def written(folder: Path) -> list[str]:
    (path,) = folder.glob("scored*")
    return sorted(path.read_text().splitlines())


def test_beam_yaml_reads_csv_and_scores_it(tmp_path: Path) -> None:
    run(FROM_YAML, tmp_path)
    assert written(tmp_path) == ["1.5 3.0", "2.0 4.0"]


def test_scored_rows_become_a_dataframe(tmp_path: Path) -> None:
    run(AS_A_DATAFRAME, tmp_path)
    assert written(tmp_path) == ["1.5 4.0", "2.0 5.0"]


def test_a_notebook_collects_scored_rows(tmp_path: Path) -> None:
    assert run(IN_A_NOTEBOOK, tmp_path).splitlines()[-1] == "7.0"
