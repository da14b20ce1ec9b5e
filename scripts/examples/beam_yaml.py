"""Runs the Beam YAML pipeline of an example, which reads and writes Parquet: its columns have types.

It runs as its users run it, in an environment with apache-beam[yaml] and nothing of this project.
"""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq

from scripts.environments import locked_environment
from scripts.example import Example, beside
from scripts.pipelines import Language, Servers, flags, portable
from scripts.shell import Command


def _command(example: Example, servers: Servers) -> Command:
    for part in [*_parts(_written(example)), *_parts(_errors(example))]:
        part.unlink()
    given = {**flags(example, YAML.name), "output": str(_written(example))}
    rows = {
        name: str(Path(value).with_suffix(".parquet")) for name, value in given.items() if _is_rows(value)
    }
    variables = json.dumps({"service": servers.service, **given, **rows})
    file = f"--yaml_pipeline_file={example.folder / 'pipeline.yaml'}"
    beam = locked_environment("beam_yaml") / "bin" / "python"
    return [beam, "-m", "apache_beam.yaml.main", file, f"--jinja_variables={variables}", *portable(servers)]


def _is_rows(value: str) -> bool:
    return value.endswith((".jsonl", ".csv"))


def _written(example: Example) -> Path:
    return example.answers(YAML.name).with_suffix(".parquet")


def _errors(example: Example) -> Path:
    return beside(_written(example), ".errors")


def _parts(path: Path) -> list[Path]:
    return sorted(path.parent.glob(f"{path.name}-*-of-*"))


def _finish(example: Example) -> None:
    _as_json_lines(_written(example), example.answers(YAML.name))
    if example.failed:
        _as_json_lines(_errors(example), example.errors(YAML.name))


def _as_json_lines(written: Path, file: Path) -> None:
    rows = [row for part in _parts(written) for row in pq.read_table(part).to_pylist()]
    file.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")


YAML = Language("YAML", ("python",), _command, _finish)
