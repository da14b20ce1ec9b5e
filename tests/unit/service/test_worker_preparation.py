"""What a worker is prepared with."""

from __future__ import annotations

import logging
import site
import subprocess
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from apache_beam.coders.coders import Coder
from apache_beam.portability import common_urns
from apache_beam.portability.api import beam_fn_api_pb2, metrics_pb2
from apache_beam.runners.common import DoFnRunner
from apache_beam.runners.worker import data_plane, sdk_worker
from apache_beam.runners.worker.sdk_worker import BundleProcessorCache
from apache_beam.runners.worker.statesampler import DEFAULT_SAMPLING_PERIOD_MS, StateSampler
from apache_beam.utils.counters import CounterFactory

from beam_ensembles.beam_repairs import bundle_errors
from beam_ensembles.beam_repairs.row_coder import PositionalRowCoder
from beam_ensembles.errors import RowFailed
from beam_ensembles.runtime import prepare_workers, worker_setup
from tests.support.expansion_requests import schema
from tests.support.interpreter import run_python

FAILED = RowFailed("digits", "forest", "null_value", "'pixels' is null")


class Harness:
    """The part of Beam's harness that answers a request."""

    def __init__(self) -> None:
        self._responses: Any = self
        self.answers: list[beam_fn_api_pb2.InstructionResponse] = []

    def put(self, answer: beam_fn_api_pb2.InstructionResponse) -> None:
        self.answers.append(answer)


@pytest.fixture
def prepared(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Prepares this process as a worker for one test."""
    monkeypatch.setattr(Coder, "_known_urns", dict(Coder._known_urns))
    monkeypatch.setattr(sdk_worker, "SHORT_ID_CACHE", sdk_worker.ShortIdCache())
    monkeypatch.setattr(sdk_worker.SdkHarness, "_execute", sdk_worker.SdkHarness._execute)
    for method in ("discard", "lookup"):
        monkeypatch.setattr(BundleProcessorCache, method, getattr(BundleProcessorCache, method))
    monkeypatch.setattr(StateSampler.__init__, "__defaults__", StateSampler.__init__.__defaults__)
    worker_setup.prepare()
    yield
    delattr(sdk_worker.SdkHarness, bundle_errors._PREPARED)


def _execute(task: Any) -> beam_fn_api_pb2.InstructionResponse:
    harness: Any = Harness()
    request = beam_fn_api_pb2.InstructionRequest(instruction_id="inst7")
    sdk_worker.SdkHarness._execute(harness, task, request)
    (answer,) = harness.answers
    assert answer.instruction_id == "inst7"
    return answer


def _fail(error: Exception) -> Any:
    def task() -> None:
        raise error

    return task


def _fail_in_a_step(error: Exception) -> Any:
    """Raises as Beam does from within a step."""

    def task() -> None:
        runner = DoFnRunner.__new__(DoFnRunner)
        runner.step_name = "Score"
        try:
            raise error
        except Exception as caught:
            runner._reraise_augmented(caught)

    return task


@pytest.mark.usefixtures("prepared")
def test_rows_are_decoded_by_position() -> None:
    rows = schema("x", **{"class": "double"})
    _, constructor = Coder._known_urns[common_urns.coders.ROW.urn]
    assert constructor(rows, [], None) == PositionalRowCoder(rows)


@pytest.mark.usefixtures("prepared")
def test_metric_ids_do_not_start_where_other_sdks_start() -> None:
    short = sdk_worker.SHORT_ID_CACHE.get_short_id(metrics_pb2.MonitoringInfo(urn="u"))
    assert int(short, 16) > 1 << 20


def _sampling_milliseconds() -> int:
    return StateSampler("step", CounterFactory()).sampling_period_ms


def test_a_bundle_does_not_wait_for_beams_next_look_at_it(request: pytest.FixtureRequest) -> None:
    assert _sampling_milliseconds() == DEFAULT_SAMPLING_PERIOD_MS
    request.getfixturevalue("prepared")
    assert _sampling_milliseconds() < DEFAULT_SAMPLING_PERIOD_MS / 10


@pytest.mark.usefixtures("prepared")
def test_a_failed_row_is_the_bundles_error_in_one_line(
    capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.ERROR):
        assert _execute(_fail(FAILED)).error == str(FAILED)
    assert [record.getMessage() for record in caplog.records] == [str(FAILED)]
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.usefixtures("prepared")
def test_the_cause_is_found_behind_another_error() -> None:
    wrapped = RuntimeError("of Beam")
    wrapped.__cause__ = FAILED
    assert _execute(_fail(wrapped)).error == str(FAILED)


def _rows_that_never_come() -> None:
    """Waits for a bundle's rows on a connection that ends, as one does over which more than 2 GB come at once."""
    channel = data_plane._GrpcDataChannel()
    channel.set_inputs(iter(()))
    list(channel.input_elements("bundle3", ["source"]))


@pytest.mark.usefixtures("prepared")
def test_a_bundle_whose_rows_do_not_come_says_what_it_may_be() -> None:
    assert _execute(_rows_that_never_come).error == (
        "the runner's connection to the worker was closed before all rows of a bundle had come; a runner that sends a "
        "bundle as one message, as Prism does, can send at most 2 GB: a source of large rows has to end its bundles "
        "before that"
    )


@pytest.mark.usefixtures("prepared")
def test_any_other_error_keeps_its_traceback(capsys: pytest.CaptureFixture[str]) -> None:
    assert "Traceback" in _execute(_fail(ValueError("boom"))).error
    assert "boom" in capsys.readouterr().err


@pytest.mark.usefixtures("prepared")
def test_a_good_answer_stays_as_it_is() -> None:
    good = beam_fn_api_pb2.InstructionResponse(instruction_id="inst7")
    assert _execute(lambda: good) is good


def _answer_to_a_split_after(error: Exception) -> beam_fn_api_pb2.InstructionResponse:
    """Fails a bundle, and then asks to split it, as Prism may do before it has read that the bundle failed."""
    channels: Any = types.SimpleNamespace(cleanup=lambda instruction_id: None, close=lambda: None)
    cache = BundleProcessorCache(None, None, channels, {})
    try:
        cache.discard("bundle3", error)
        request = beam_fn_api_pb2.ProcessBundleSplitRequest(instruction_id="bundle3")
        return sdk_worker.SdkWorker(cache).process_bundle_split(request, "inst7")
    finally:
        cache.shutdown()


@pytest.mark.usefixtures("prepared")
def test_a_bundle_that_failed_in_one_line_is_not_running() -> None:
    answer = _answer_to_a_split_after(FAILED)
    assert not answer.error
    assert answer.HasField("process_bundle_split")


@pytest.mark.usefixtures("prepared")
def test_a_bundle_that_failed_otherwise_says_so_again() -> None:
    assert "boom" in _answer_to_a_split_after(ValueError("boom")).error


@pytest.mark.usefixtures("prepared")
def test_preparing_twice_changes_nothing() -> None:
    execute = sdk_worker.SdkHarness._execute
    worker_setup.prepare()
    assert sdk_worker.SdkHarness._execute is execute


def test_a_worker_imports_run_inference_without_torch(tmp_path: Path) -> None:
    (tmp_path / "torch.py").write_text("raise AssertionError('torch was imported')\n")
    code = (
        "from beam_ensembles.runtime import worker_setup\n"
        "worker_setup.prepare()\n"
        "import pickle\n"
        "print(pickle.loads(b'capache_beam.ml.inference.base\\nRunInference\\n.').__name__)\n"
    )
    assert run_python(code, tmp_path) == "RunInference"


def test_an_error_whose_chain_is_a_circle_is_searched_once() -> None:
    one, other = ValueError("one"), ValueError("other")
    one.__context__, other.__context__ = other, one
    assert bundle_errors.ensemble_error_in(one) is None


@pytest.mark.parametrize("program", [prepare_workers.HARNESS, "apache_beam.runners.worker.worker_pool_main"])
def test_in_an_image_the_harness_and_nothing_else_is_prepared(
    program: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(site, "getsitepackages", lambda: [str(tmp_path)])
    prepare_workers.main()
    (line,) = tmp_path.glob("*.pth")
    prepared = "'beam_ensembles.runtime.worker_setup' in sys.modules"
    code = f"import site, sys; site.addsitedir({str(tmp_path)!r}); print({prepared})"
    done = subprocess.run([sys.executable, "-c", code, program], capture_output=True, text=True, check=True)
    assert done.stdout == f"{program == prepare_workers.HARNESS}\n"
    assert line.read_text() == prepare_workers.LINE
