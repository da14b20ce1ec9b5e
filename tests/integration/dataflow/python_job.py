"""``python_job.py FOLDER FLAG…``: makes the job of the Python example for Dataflow, and writes it into a folder.

Beam's own dry run makes the pipeline; what is sent is made by the class that would send it, which here stages to the
folder instead of a bucket.
"""

from __future__ import annotations

import runpy
import sys
from pathlib import Path
from typing import Any
from unittest import mock

from apache_beam.options.pipeline_options import GoogleCloudOptions
from apache_beam.runners.dataflow import dataflow_runner
from apache_beam.runners.dataflow.internal import apiclient

from scripts.layout import ROOT


def main(folder: Path, *flags: str) -> None:
    """Runs the example with a pipeline whose result is kept."""
    results: list[Any] = []

    class Kept(dataflow_runner.DataflowRunner):
        def run_pipeline(self, *args: Any, **kwargs: Any) -> Any:
            results.append(super().run_pipeline(*args, **kwargs))
            return results[-1]

    dry = ("--dry_run=True", "--no_auth")
    with (
        mock.patch.object(sys, "argv", ["pipeline.py", *flags, *dry]),
        mock.patch.object(dataflow_runner, "DataflowRunner", Kept),
    ):
        runpy.run_path(str(ROOT / "examples" / "digits" / "pipeline.py"), run_name="__main__")
    (result,) = results
    job = result.job
    job.options.view_as(GoogleCloudOptions).staging_location = str(folder)
    apiclient.DataflowApplicationClient(job.options).create_job_description(job)
    (folder / "job.json").write_text(job.json(), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
