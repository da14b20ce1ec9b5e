"""``evaluate --profile`` learns what inputs are like; ``run`` compares with it; what is wrong is one sentence."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import logging
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apache_beam as beam
import pytest
from apache_beam.testing.util import assert_that

from beam_ensembles.cli.main import main
from beam_ensembles.errors import InvalidEnsemble
from beam_ensembles.execution.files_digest import digest_of
from beam_ensembles.execution.growing_stage import load_stage
from beam_ensembles.execution.profile_loading import load_profile
from beam_ensembles.files.ensemble_files import Files
from beam_ensembles.graph import EnsembleGraph, check_text
from beam_ensembles.local.ensemble import Ensemble
from beam_ensembles.local.scoring import columns_of, stage_of
from beam_ensembles.metrics import ensemble_metrics
from beam_ensembles.processes.machine import this_machine
from beam_ensembles.registry import KINDS
from beam_ensembles.runtime.loading import files_of, graph_of_file
from beam_ensembles.runtime.refresh import RefreshedStage, Watch
from beam_ensembles.transforms import RunEnsemble

FILE = """
ensemble: e
inputs: {x: double, c: "string?"}
PROFILE
nodes:
  twice: {apply: sql, select: {y: "x * 2"}}
  upper: {apply: sql, select: {z: "upper(c)"}, stage: own}
"""


def rows(count: int, shift: float = 0.0) -> list[dict[str, Any]]:
    made = random.Random(count)
    return [{"x": made.gauss(shift, 1), "c": made.choice(["a", "b", None])} for _ in range(count)]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write(tmp_path, "")
    for name, found in (("trained", rows(1_000)), ("clean", rows(1_001)), ("shifted", rows(1_002, 1.0))):
        text = "".join(f"{json.dumps(row)}\n" for row in found)
        (tmp_path / f"{name}.jsonl").write_text(text)
    return tmp_path


def write(folder: Path, profile: str) -> None:
    (folder / "e.yaml").write_text(FILE.replace("PROFILE", profile))


def learn(folder: Path) -> Path:
    assert main(["evaluate", "e.yaml", "--input", "trained.jsonl", "--profile", "e.profile.json"]) == 0
    write(folder, "profile: {uri: e.profile.json}")
    return folder / "e.profile.json"


def run(name: str, *more: str) -> int:
    return main(["run", "e.yaml", "--input", f"{name}.jsonl", "--output", "out.jsonl", *more])


def test_run_warns_of_an_input_that_has_drifted(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    learn(folder)
    capsys.readouterr()
    assert run("clean") == 0
    assert "WARNING" not in capsys.readouterr().out
    assert run("shifted", "--metrics") == 0
    said = capsys.readouterr().out
    assert "WARNING input 'x' differs from its profile: median 1.0" in said
    assert "learned -0.0" in said
    assert "\ninput  compared  null  out of range" in said
    assert run("shifted", "--json") == 0
    (drift,) = json.loads(capsys.readouterr().out)["drifts"]
    assert (drift["input"], drift["windows"]) == ("x", 2)


def test_a_pipeline_counts_it_in_all_its_stages_once(folder: Path) -> None:
    learn(folder)
    pipeline = beam.Pipeline()
    made = [beam.Row(x=row["x"], c=row["c"]) for row in rows(1_000, 1.0)]
    scored = pipeline | beam.Create(made) | RunEnsemble("e.yaml")
    assert_that(scored, lambda found: None)
    result = pipeline.run()
    result.wait_until_finish()
    (found,) = ensemble_metrics(result)
    assert [one.column for one in found.inputs] == ["c", "x"]
    assert found.input("x").drifted_windows == found.input("x").windows > 0
    assert found.input("c").drifted_windows == 0
    assert found.input("c").null_rows > 0


def test_a_frame_is_compared_and_explained(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    learn(folder)
    ensemble = Ensemble("e.yaml")
    with caplog.at_level(logging.WARNING, "beam_ensembles.execution.input_watch"):
        ensemble.predict(rows(1_000, 1.0))
    (record,) = caplog.records
    assert "the input 'x' differs from its profile" in record.getMessage()
    assert "y" in str(ensemble.explain(rows(1)[0]))


def test_the_profile_is_learned_anew_whatever_the_old_one_is(folder: Path) -> None:
    first = learn(folder).read_text()
    (folder / "e.profile.json").write_text("{}")
    learn(folder)
    assert (folder / "e.profile.json").read_text() == first


def test_a_changed_profile_is_another_version(folder: Path) -> None:
    path = learn(folder)
    before = digest_of(graph_of_file("e.yaml"))
    path.write_text(path.read_text().replace('"ensemble": "e"', '"ensemble": "f"'))
    assert digest_of(graph_of_file("e.yaml")) != before


def test_a_refresh_takes_the_new_profile(folder: Path) -> None:
    path = learn(folder)
    graph = graph_of_file("e.yaml")
    watch = Watch.of(graph, files_of("e.yaml"), {}, str(folder / "e.yaml"), 3_600.0)
    code = stage_of(graph, columns_of(graph))
    stage = RefreshedStage(code, watch, lambda newer: load_stage(newer, this_machine()))
    later = RefreshedStage(
        code, dataclasses.replace(watch, stage=1), lambda newer: load_stage(newer, this_machine())
    )
    before = stage.newest()
    path.write_text(path.read_text().replace('"ensemble": "e"', '"ensemble": "f"'))
    stage.look()
    after = stage.newest()
    assert after.digest != before.digest
    assert after.code.profile is not None
    assert after.code.profile.content is not None
    assert after.code.profile.content.ensemble == "f"
    assert later.version(after.digest).code.profile is None


def test_a_bundle_brings_it_along(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    learn(folder)
    assert main(["pack", "e.yaml", "--output", "e.ensemble.zip"]) == 0
    (folder / "e.profile.json").unlink()
    graph = graph_of_file("e.ensemble.zip")
    assert graph.profile is not None
    assert graph.profile.content is not None


def test_a_profile_of_another_place_is_read_by_workers(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = learn(folder)
    from beam_ensembles.files import fetched_files

    def copy(place: str, target: str, _: object) -> None:
        assert place == "gs://bucket/e.profile.json"
        Path(target).write_bytes(path.read_bytes())

    monkeypatch.setattr(fetched_files, "_fetch", copy)
    monkeypatch.setattr(fetched_files, "_newest", lambda place: place)
    write(folder, "profile: {uri: gs://bucket/e.profile.json}")
    checked = graph_of_file("e.yaml").profile
    assert checked is not None
    assert checked.content is None
    assert set(load_profile(checked).columns) == {"x", "c"}


def problems(folder: Path, profile: str) -> list[tuple[str, str, str]]:
    write(folder, profile)
    with pytest.raises(InvalidEnsemble) as caught:
        check(folder)
    return [(one.code, one.path, one.message) for one in caught.value.problems]


def check(folder: Path) -> EnsembleGraph:
    return check_text((folder / "e.yaml").read_text(), KINDS, Files(str(folder), (str(folder),)))


def test_the_pin_is_compared(folder: Path) -> None:
    digest = hashlib.sha256(learn(folder).read_bytes()).hexdigest()
    write(folder, f"profile: {{uri: e.profile.json, sha256: {digest}}}")
    assert check(folder).profile is not None
    ((code, path, _),) = problems(folder, f"profile: {{uri: e.profile.json, sha256: '{'0' * 64}'}}")
    assert (code, path) == ("sha256_mismatch", "profile.sha256")


@pytest.mark.parametrize(
    ("profile", "code", "path"),
    [
        ("profile: warn", "wrong_type", "profile"),
        ("profile: {}", "missing_key", "profile"),
        ("profile: {uri: none.json}", "missing_file", "profile.uri"),
        ("profile: {uri: 3}", "wrong_type", "profile.uri"),
        ("profile: {uri: e.profile.json, sha256: abc}", "bad_sha256", "profile.sha256"),
        ("profile: {uri: e.profile.json, on_drift: warn}", "unknown_key", "profile.on_drift"),
        ("profile: {uri: /etc/hostname}", "untrusted_file", "profile.uri"),
    ],
)
def test_what_is_wrong_with_the_key(folder: Path, profile: str, code: str, path: str) -> None:
    learn(folder)
    assert (code, path) in {found[:2] for found in problems(folder, profile)}


def edit(change: Callable[[dict[str, Any]], Any]) -> Callable[[str], str]:
    def edited(text: str) -> str:
        data = json.loads(text)
        change(data)
        return json.dumps(data)

    return edited


def numbers(data: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = data["columns"]["x"]["numbers"]
    return found


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda text: "[1]", "it must be an object"),
        (lambda text: "{}", "it has no key 'beam_ensembles_profile'"),
        (lambda text: text[:-30], "damaged"),
        (lambda text: "[" * 100_000, "too deep"),
        (edit(lambda data: data.update(beam_ensembles_profile=2)), "format 2"),
        (edit(lambda data: data.update(columns=[])), "'columns' must be an object"),
        (edit(lambda data: data.update(rows=-1)), "whole number"),
        (edit(lambda data: data["columns"]["x"].update(nulls=7)), "do not add up"),
        (edit(lambda data: data["columns"]["x"].update(categories={})), "several of"),
        (edit(lambda data: numbers(data)["quantiles"].reverse()), "ascending"),
        (edit(lambda data: numbers(data)["counts"].pop()), "go together"),
        (edit(lambda data: numbers(data).update(largest=float("inf"))), "go together"),
        (edit(lambda data: numbers(data).update(counts=[True] * 10)), "whole number"),
        (edit(lambda data: data["columns"]["c"].update(categories={str(at): 1 for at in range(201)})), "more than 200"),
        (edit(lambda data: data["columns"].update(x=data["columns"]["c"])), "knows the input 'x' as string?"),
        (edit(lambda data: data.update(columns={"other": data["columns"]["c"]})), "'other' is not one"),
    ],
)  # fmt: skip
def test_a_file_that_is_no_profile_of_these_inputs(
    folder: Path, change: Callable[[str], str], said: str
) -> None:
    path = learn(folder)
    path.write_text(change(path.read_text()))
    ((code, place, message),) = problems(folder, "profile: {uri: e.profile.json}")
    assert (code, place) == ("bad_profile", "profile.uri")
    assert said in message


def test_an_input_that_the_profile_does_not_know_is_a_warning(folder: Path) -> None:
    path = learn(folder)
    path.write_text(edit(lambda data: data["columns"].pop("c"))(path.read_text()))
    (warning,) = check(folder).warnings
    assert "does not know the input 'c'" in warning.message


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "give --label FIELD to evaluate the ensemble, or --profile PATH"),
        (["--profile", "p.json", "--report", "r.html"], "--report needs --label FIELD"),
        (["--profile", "p.txt"], "its suffix must be .json"),
        (["--profile", "none/p.json"], "there is no folder"),
    ],
)
def test_wrong_usage(
    folder: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    assert main(["evaluate", "e.yaml", "--input", "trained.jsonl", *arguments]) == 2
    assert said in capsys.readouterr().err


def test_no_profile_of_no_rows(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "empty.jsonl").write_text("")
    assert main(["evaluate", "e.yaml", "--input", "empty.jsonl", "--profile", "p.json"]) == 1
    assert "empty.jsonl" in capsys.readouterr().err
    assert not (folder / "p.json").exists()
