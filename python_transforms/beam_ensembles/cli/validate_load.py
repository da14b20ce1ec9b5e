"""``validate --load``: loads what an ensemble runs as a worker would, asks it rows, and says what was found."""

from __future__ import annotations

import contextlib
import dataclasses
import logging
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np

from beam_ensembles.cli.output import counted
from beam_ensembles.cli.run_scoring import Call, opened
from beam_ensembles.columns.batch import ColumnBatch
from beam_ensembles.errors import ENDS_THE_PROGRAM, EnsembleError, InvalidEnsemble, NodeError, Problem
from beam_ensembles.execution.loaded_stage import LoadedStage, StageCode
from beam_ensembles.graph import EnsembleGraph
from beam_ensembles.graph.class_meanings import meanings_of
from beam_ensembles.graph.kinds import CheckedNode, Columns, Member, validity
from beam_ensembles.handlers.support.library_versions import versions_of
from beam_ensembles.handlers.support.load_failures import reason
from beam_ensembles.handlers.support.shared_members import load_untried
from beam_ensembles.handlers.support.trial_rows import Trial, try_out
from beam_ensembles.local.row_files import chunks_of
from beam_ensembles.local.scoring import stage_of
from beam_ensembles.metrics.local import counting
from beam_ensembles.metrics.values import NodeMetrics
from beam_ensembles.processes.machine import Machine, this_machine
from beam_ensembles.runtime.row_source import score
from beam_ensembles.tables.formats import Columns as TableColumns

_PACKAGE: Final = "beam_ensembles"
_ROWS_AT_ONCE: Final = 1_024
_MOST_FAILURES: Final = 20
"""Failed rows that are shown; many rows mostly fail for one reason."""


@dataclasses.dataclass(slots=True)
class LoadedNode:
    """The findings about one model node.

    Attributes:
        name: Its name.
        model: The kind of model.
        versions: The version of each library that runs it.
        loading_milliseconds: How long loading took.
        trial: What a trial with made-up rows found; None where there was none.
        classes: The classes that the model itself names.
        gives: Of each column that it gives dtype and shape, or the Python type of its values.
        metrics: The counts of its run on the given rows; None without such rows.
    """

    name: str
    model: str
    versions: Mapping[str, str]
    loading_milliseconds: float
    trial: Trial | None = None
    classes: Sequence[str] = ()
    gives: Mapping[str, str] = dataclasses.field(default_factory=dict)
    metrics: NodeMetrics | None = None

    def as_data(self) -> dict[str, Any]:
        """Returns it as plain data."""
        trial = self.trial
        return {
            "node": self.name,
            "model": self.model,
            "versions": dict(self.versions),
            "loading_milliseconds": round(self.loading_milliseconds, 1),
            "trial": None
            if trial is None
            else {
                "rows": list(trial.rows),
                "milliseconds": round(trial.milliseconds, 1),
                "refused": trial.refused or None,
                "notes": list(trial.notes),
            },
            "classes": list(self.classes),
            "gives": dict(self.gives),
            "metrics": None if self.metrics is None else self.metrics.as_data(),
        }

    def as_lines(self) -> list[str]:
        """Returns it as lines for people."""
        with_ = f" with {_listed(self.versions)}" if self.versions else ""
        lines = [f"{self.name}: {self.model}{with_}, loaded in {self.loading_milliseconds:,.0f} ms"]
        if self.trial is None:
            lines.append("is asked no made-up rows here")
        elif self.trial.refused:
            lines.append(f"takes none of the made-up rows, so it was not tried: {self.trial.refused}")
        else:
            rows = ", ".join(map(str, self.trial.rows))
            lines.append(f"answers made-up rows ({rows} at once), in {self.trial.milliseconds:,.1f} ms")
        if self.metrics is not None and self.metrics.inference_batch_latency_micro_secs is not None:
            took = self.metrics.inference_batch_latency_micro_secs.sum / 1_000
            lines.append(f"answers {counted(self.metrics.num_inferences)} in {took:,.1f} ms")
        if self.classes:
            lines.append(f"knows the classes {', '.join(self.classes)}")
        return [*lines, *(f"returns {column}: {what}" for column, what in self.gives.items())]


@dataclasses.dataclass(slots=True)
class Report:
    """What loading an ensemble showed.

    Attributes:
        nodes: Its model nodes, in the order in which they run.
        problems: What stops it.
        warnings: The warnings that a worker logs while it loads and tries the models.
        scored: How many of the given rows were scored; None without such rows.
        failed: How many failed.
        failures: The first of those, a line each.
    """

    nodes: list[LoadedNode] = dataclasses.field(default_factory=list)
    problems: list[Problem] = dataclasses.field(default_factory=list)
    warnings: list[str] = dataclasses.field(default_factory=list)
    scored: int | None = None
    failed: int = 0
    failures: list[dict[str, Any]] = dataclasses.field(default_factory=list)

    def load(self, node: CheckedNode, machine: Machine) -> Member:
        """Loads and tries one node; one that cannot be loaded is noted, so that the others are loaded too."""
        try:
            return self._loaded(node, machine)
        except ENDS_THE_PROGRAM:
            raise
        except BaseException as error:  # whatever a model's own code raises
            problems = _problems(node, error)
        if node.spec.shadow_of is None:
            self.problems += problems
        else:
            self.warnings += [
                f"{problem} (a shadow that cannot be loaded is left out)" for problem in problems
            ]
        return _Missing()

    def _loaded(self, node: CheckedNode, machine: Machine) -> Member:
        start = time.monotonic()
        member = load_untried(node, machine)
        took = (time.monotonic() - start) * 1_000
        if node.kind.kind != "model":
            return member
        trial = try_out(node, member)
        found = LoadedNode(node.spec.name, node.kind.name, versions_of(node), took, trial, classes_of(member))
        self.nodes.append(found)
        if trial is not None:
            found.gives = _described(node, trial.answer)
        return member

    def as_data(self, problems: Sequence[Mapping[str, str]]) -> dict[str, Any]:
        """Returns it as plain data, with the problems as the verb writes them."""
        return {
            "problems": list(problems),
            "warnings": self.warnings,
            "nodes": [node.as_data() for node in self.nodes],
            "rows": None
            if self.scored is None
            else {"scored": self.scored, "failed": self.failed, "failures": self.failures},
        }

    def as_lines(self) -> list[str]:
        """Returns it as lines for people."""
        lines = []
        for node in self.nodes:
            first, *more = node.as_lines()
            lines += [f"  loads  {first}", *(f"         {line}" for line in more)]
        if self.scored is not None:
            lines.append(
                f"  scores {counted(self.scored)}" + (f"; {self.failed:,} failed" if self.failed else "")
            )
        for one in self.failures:
            place = f"nodes.{one['node']}" if one["node"] else "inputs"
            lines.append(f"    row {one['row']}: [{one['code']}] {place}: {one['message']}")
        if self.failed > len(self.failures) > 0:
            lines.append(f"    and {self.failed - len(self.failures):,} more")
        return lines


class _Missing:
    """Stands for a node that could not be loaded."""

    def __call__(self, columns: Columns) -> Columns:
        raise NodeError("load_failed", "the node could not be loaded")


@dataclasses.dataclass(frozen=True, slots=True)
class _Watched:
    """A stage that notes what its model nodes give.

    Attributes:
        stage: The stage.
        nodes: The checked nodes.
        seen: What they give is put here.
    """

    stage: LoadedStage
    nodes: Sequence[CheckedNode]
    seen: dict[str, Mapping[str, str]]

    def run(self, batch: ColumnBatch) -> None:
        """Runs the stage."""
        self.stage.run(batch)
        for node in self.nodes:
            made = {name: batch.columns[name] for name in node.outputs if name in batch.columns}
            if made and node.spec.name not in self.seen:
                self.seen[node.spec.name] = _described(node, made, batch.columns)


def load_and_ask(
    graph: EnsembleGraph, file: str, rows: str | None, parameters: Mapping[str, str], trust: Sequence[str]
) -> Report:
    """Loads an ensemble's nodes and asks them rows.

    Args:
        graph: The checked ensemble.
        file: Its file.
        rows: The file of rows to score; None: models are asked made-up ones.
        parameters: Values of ``${name}``.
        trust: Further folders and URI prefixes to trust.

    Returns:
        What was found.

    Raises:
        InvalidRows: There is something wrong with the file of rows as a whole.
        EnsembleError: It breaks off.
        OSError: It cannot be read.
    """
    report = Report()
    columns = TableColumns(dict(graph.columns_read), graph.outputs)
    call = Call(
        file=file, input=rows or "", output="scored.jsonl", errors="", parameters=parameters, trust=trust,
        batch_size=_ROWS_AT_ONCE,
    )  # fmt: skip
    reader = None if rows is None else opened(call, graph, columns)
    code = stage_of(graph, columns)
    try:
        with _logged(report.warnings):
            stage = LoadedStage(code, this_machine(), load=report.load)
    except InvalidEnsemble as error:
        report.problems += error.problems
    if report.problems or reader is None:
        return report
    _score(report, code, stage, chunks_of(reader, call.input, _ROWS_AT_ONCE))
    return report


@contextlib.contextmanager
def _logged(messages: list[str]) -> Iterator[None]:
    """Have what this project logs as a warning within the block be put to these messages instead."""
    logger, handler = logging.getLogger(_PACKAGE), _Messages(messages)
    level, propagate = logger.level, logger.propagate
    logger.addHandler(handler)
    logger.setLevel(logging.WARNING)
    logger.propagate = False
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)
        logger.propagate = propagate


class _Messages(logging.Handler):
    """Keeps what is logged.

    Args:
        kept: The messages are put here.
    """

    def __init__(self, kept: list[str]) -> None:
        super().__init__()
        self._kept = kept

    def emit(self, record: logging.LogRecord) -> None:
        """Keeps a record's message."""
        self._kept.append(record.getMessage())


def _score(report: Report, code: StageCode, stage: LoadedStage, chunks: Any) -> None:
    seen: dict[str, Mapping[str, str]] = {}
    watched: Any = _Watched(stage, code.nodes, seen)
    report.scored = 0
    with counting() as found:
        for chunk in chunks:
            scored = score(code, watched, chunk)
            report.scored += len(scored.rows)
            failed = [(chunk.numbers[row.index], row.node, row.error) for row in scored.failures]
            failed += [(fault.number, "", fault.error) for fault in chunk.faults]
            report.failed += len(failed)
            for number, place, error in sorted(failed, key=lambda one: one[0]):
                if len(report.failures) < _MOST_FAILURES:
                    one = {"row": number, "node": place, "code": error.code, "message": error.message}
                    report.failures.append(one)
    metrics = {one.node: one for ensemble in found() for one in ensemble.nodes}
    for node in report.nodes:
        node.metrics, node.gives = metrics.get(node.name), seen.get(node.name, node.gives)


def classes_of(member: Any) -> list[str]:
    """Returns the classes that a loaded model knows, texts or whole numbers, as text; none where it knows none."""
    known = (meaning.classes for meaning in meanings_of(member).values())
    return [str(one) for one in next((classes for classes in known if classes), ())]


def _problems(node: CheckedNode, error: BaseException) -> list[Problem]:
    if isinstance(error, InvalidEnsemble):
        return list(error.problems)
    said = str(error) if isinstance(error, EnsembleError) else f"loading it raises {reason(error)}"
    return [Problem(node.spec.path(), "load_failed", said)]


def _described(node: CheckedNode, columns: Columns, all_: Columns | None = None) -> dict[str, str]:
    """Returns dtype and shape of each column that a node gives, of lists and texts their type and lengths."""
    found = {}
    for name, type_ in node.outputs.items():
        if name not in columns:
            continue
        values = columns[name]
        valid = (all_ or {}).get(validity(name))
        nulls = 0 if valid is None else int(len(valid) - np.count_nonzero(valid))
        if values.dtype != object:
            shape = ", ".join(["N", *map(str, values.shape[1:])])
            found[name] = f"{values.dtype} [{shape}]"
        else:
            lengths = sorted({len(value) for value in values if isinstance(value, list)})
            of = f" of {lengths[0]} to {lengths[-1]} items" if lengths else ""
            found[name] = f"{type_}{of if len(lengths) != 1 else f' of {lengths[0]} items'}"
        found[name] += f", {nulls} of {len(values)} null" if nulls else ""
    return found


def _listed(versions: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {version}" for name, version in versions.items())
