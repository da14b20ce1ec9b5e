"""Names that try to write a log of their own: each record stays one line, and no escape code reaches a terminal."""

from __future__ import annotations

import json
import logging
import re
import sys
from pathlib import Path
from typing import Any

import grpc
import pytest
from apache_beam.portability.api import (
    beam_expansion_api_pb2_grpc,
    beam_fn_api_pb2,
    beam_fn_api_pb2_grpc,
)

from beam_ensembles import logs
from beam_ensembles.cli.main import main
from beam_ensembles.errors import InvalidEnsemble, Problem
from beam_ensembles.messages.printable import printable, shortened
from tests.support.expansion_requests import MEAN_OF_TWO, like_go, schema
from tests.support.patience import SECONDS
from tests.support.service import running_service

CODES = [chr(code) for code in (*range(32), *range(127, 160), 0x61C, 0x200E, 0x200F, 0x2028, 0x2029)]
BIDI = [chr(code) for code in (*range(0x202A, 0x202F), *range(0x2066, 0x206A))]
FORGED = "x\n2026-01-01 00:00:00,000 ERROR root: forged\r\x1b[2K\x9b31m\u202egnorw\u2028"
_RAW = re.compile("[" + "".join(re.escape(code) for code in (*CODES, *BIDI)) + "]")


def record(text: str, *args: object, **fields: object) -> logging.LogRecord:
    made = logging.LogRecord("some.logger", logging.WARNING, __file__, 1, text, args, None)
    vars(made).update(logs.with_fields(**fields))
    return made


@pytest.mark.parametrize("code", [*CODES, *BIDI, "\ud800", "\ud7fc", "\u00ad", "\U000e0041"])
def test_every_code_is_shown_as_its_escape(code: str) -> None:
    assert json.loads(f'"{printable(code)}"') == code
    assert printable(printable(code)) == printable(code)


def test_other_text_stays_as_it_is_and_long_text_is_cut() -> None:
    text = "größe 数 \U0001f600 \\n \u3042 a\u00a0b\u3000"
    assert printable(text) == text
    assert shortened("x" * 1000, 10) == "xxxxxxxxxx... (1000 characters)"


@pytest.mark.parametrize("log_format", logs.LOG_FORMATS)
def test_a_record_is_one_line_whatever_it_quotes(log_format: str) -> None:
    made = record("said '%s'", FORGED, client=FORGED, ensemble=FORGED)
    line = logs.formatter(log_format, FORGED).format(made)
    assert not _RAW.search(line)
    if log_format == "json":
        found = json.loads(line)
        assert (found["message"], found["worker"], found["client"]) == (f"said '{FORGED}'", FORGED, FORGED)


def test_a_worker_cannot_look_like_the_text_that_follows() -> None:
    line = logs.formatter("text", "w1 root: forged").format(record("said"))
    assert ' WARNING worker "w1 root: forged" some.logger: said' in line


@pytest.mark.parametrize("log_format", logs.LOG_FORMATS)
def test_lines_of_a_traceback_do_not_look_like_records(log_format: str) -> None:
    made = record("failed")
    try:
        raise ValueError(FORGED)
    except ValueError:
        made.exc_info = sys.exc_info()
    first, *others = logs.formatter(log_format).format(made).split("\n")
    assert all(line.startswith("  ") and not _RAW.search(line) for line in others)
    assert not _RAW.search(first)


def test_what_a_worker_sends_to_its_runner_is_escaped_too() -> None:
    line = logs.MessageFormatter().format(record("said '%s'", FORGED, node="forest"))
    assert line == f"node=forest said '{printable(FORGED)}'"


def test_a_problem_is_one_line_for_clients_and_terminals() -> None:
    text = str(InvalidEnsemble([Problem(f"nodes.{FORGED}", "unknown_column", FORGED)], ensemble=FORGED))
    assert len(text.split("\n")) == 2
    assert not _RAW.search(text.replace("\n", ""))


def test_validate_prints_no_codes_of_the_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "e.yaml"
    file.write_text(MEAN_OF_TWO.replace("[a, b]", '[a, "\\e[31mb\\u202e"]'))
    assert main(["validate", str(file)]) == 1
    printed = capsys.readouterr()
    assert "[31mb\\u202e" in printed.out
    assert not _RAW.search((printed.out + printed.err).replace("\n", ""))


def test_plan_prints_no_codes_of_the_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "e.yaml"
    node = "{combine: mean, inputs: [a, b], outputs: {m: double}, when: \"s = '\\e[31m\\u202e'\", "
    text = MEAN_OF_TWO.replace("b: double}", "b: double, s: string}", 1)
    file.write_text(
        text.replace(
            "{combine: mean, inputs: [a, b], outputs: {m: double}}", node + "on_skip: {default: {m: 0}}}"
        )
    )
    main(["plan", str(file)])
    printed = capsys.readouterr()
    assert not _RAW.search((printed.out + printed.err).replace("\n", ""))


@pytest.mark.parametrize("log_format", logs.LOG_FORMATS)
def test_the_service_and_its_pool_write_a_line_a_request(log_format: str) -> None:
    with (
        running_service("--serve-loopback-worker", "--log-format", log_format) as service,
        grpc.insecure_channel(service.address) as channel,
    ):
        expansion: Any = beam_expansion_api_pb2_grpc.ExpansionServiceStub(channel)
        pool: Any = beam_fn_api_pb2_grpc.BeamFnExternalWorkerPoolStub(channel)
        request = like_go({"spec": MEAN_OF_TWO}, schema("rows", a="double", b="double"))
        request.transform.unique_name = FORGED
        assert not expansion.Expand(request, timeout=SECONDS).error
        start = beam_fn_api_pb2.StartWorkerRequest(worker_id=FORGED)
        start.control_endpoint.url = "127.0.0.1:9"
        for worker_id in (FORGED, "x" * 100_000, "a\0b"):
            start.worker_id = worker_id
            assert "a worker's id" in pool.StartWorker(start, timeout=SECONDS).error
        assert service.end() == 0
    lines = service.log.splitlines()
    assert sum("was not started" in line for line in lines) == 3
    assert sum("expanded 'x" in line for line in lines) == 1
    assert not _RAW.search(service.log.replace("\n", ""))
    assert max(map(len, lines)) < 2_000
    assert not any(line.startswith("2026-01-01 00:00:00,000 ERROR") for line in lines)
    if log_format == "json":
        assert all(json.loads(line) for line in lines)
