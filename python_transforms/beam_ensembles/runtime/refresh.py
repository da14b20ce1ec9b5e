"""A stage that goes on with new models: the whole ensemble is looked for again and swapped between two batches.

Beam's own refresh hands a model's path over a side input, one path a RunInference; an ensemble's members must change
together, and Prism refuses the side input's trigger. So each worker looks for itself, and what counts is the digest of
the file and all its models: the first stage stamps it on a batch, and the later ones score it with that version.
"""

from __future__ import annotations

import dataclasses
import logging
import threading
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from apache_beam.metrics.metric import Metrics

from beam_ensembles import logs
from beam_ensembles.errors import EnsembleError, InvalidEnsemble, Problem, listed
from beam_ensembles.execution.files_digest import digest_of, node_digests
from beam_ensembles.execution.growing_stage import Stage
from beam_ensembles.execution.loaded_stage import StageCode
from beam_ensembles.files.ensemble_files import Files
from beam_ensembles.files.fetched_files import Beside
from beam_ensembles.files.file_changes import state_of
from beam_ensembles.files.lock_names import golden_of
from beam_ensembles.graph import EnsembleGraph, check_text, plan
from beam_ensembles.graph.kinds import CheckedNode
from beam_ensembles.graph.planning import alive_between
from beam_ensembles.messages.foreign_errors import described
from beam_ensembles.metrics import names
from beam_ensembles.registry import KINDS
from beam_ensembles.runtime.ensemble_text import read_uri

if TYPE_CHECKING:
    from beam_ensembles.runtime.refresh_gate import Gate

_LOGGER: Final = logging.getLogger(__name__)
_KEPT: Final = 2
"""How many versions a stage keeps: batches of the one before may still be on their way."""


class Refused(EnsembleError):
    """A new version goes beyond the limits of the gate."""


@dataclasses.dataclass(frozen=True, slots=True)
class Watch:
    """The files to look at, and how often.

    Attributes:
        interval: Seconds between two looks.
        files: What the file may use.
        parameters: Values of ``${name}`` in it.
        uri: Where the file is read anew; None where its text came with the call and stays.
        text: The file's text when the pipeline was made.
        digest: The digest then.
        nodes: The digest of each node then, by name.
        shape: What must stay (``shape_of``).
        stage: The stage's place in the plan.
        gate: What a new version is compared with before it is taken, if anything.
        profile: The profile of its inputs that the file named when the pipeline was made, if any.
    """

    interval: float
    files: Files
    parameters: Mapping[str, str]
    uri: str | None
    text: str
    digest: str
    nodes: Mapping[str, str]
    shape: Mapping[str, Any]
    stage: int = 0
    gate: Gate | None = None
    profile: str | None = None

    @classmethod
    def of(
        cls,
        graph: EnsembleGraph,
        files: Files,
        parameters: Mapping[str, str],
        uri: str | None,
        interval: float,
    ) -> Watch:
        """Creates it for an ensemble as it is now; the arguments are the attributes of the same names.

        Raises:
            InvalidEnsemble: The file asks for a gate, and there is no lock to compare with.
        """
        nodes = node_digests(graph.nodes)
        return cls(
            interval,
            files,
            parameters,
            uri,
            graph.spec.text,
            digest_of(graph, nodes),
            nodes,
            shape_of(graph),
            gate=_gate_of(graph, files, uri),
            profile=_profile_of(graph),
        )

    def graph(self, text: str) -> EnsembleGraph:
        """Checks the ensemble as it is now.

        Raises:
            InvalidEnsemble: It is wrong, or ``refresh_incompatible``: its rows or its stages would be others.
        """
        graph = check_text(text, KINDS, self.files, parameters=self.parameters)
        found = shape_of(graph)
        differs = [name for name, value in self.shape.items() if found[name] != value]
        if differs:
            text = f"{listed(differs)} would be others, which a running pipeline cannot change; start it anew"
            raise InvalidEnsemble([Problem("$", "refresh_incompatible", text)], ensemble=graph.spec.name)
        return graph

    def current_text(self) -> str:
        """Reads the file.

        Raises:
            InvalidEnsemble: It cannot be read.
        """
        if self.uri is None:
            return self.text
        folder = self.uri.rpartition("/")[0]  # whoever named the file was allowed to
        text, _ = read_uri(self.uri, Files(trusted=(folder,)))
        return text

    def state(self, text: str, nodes: Sequence[CheckedNode], profile: str | None) -> Any:
        """Returns what changes when the file, its lock, its profile, or a file that these nodes name, does."""
        named: list[tuple[str, Beside]] = [
            (self.files.resolve(node.spec.file), node.kind.files_beside)
            for node in nodes
            if node.spec.file is not None
        ]
        states = [(place, state_of(place, beside)) for place, beside in named]
        if self.gate is not None:
            states += [(place, state_of(place)) for place in (self.gate.lock, golden_of(self.gate.lock))]
        if profile is not None:
            place = self.files.resolve(profile)
            states.append((place, state_of(place)))
        return text, states


def _gate_of(graph: EnsembleGraph, files: Files, uri: str | None) -> Gate | None:
    if graph.spec.gate is None:
        return None
    from beam_ensembles.runtime.refresh_gate import Gate  # what compares answers; few files have a gate

    return Gate.of(graph, files, uri)


def _profile_of(graph: EnsembleGraph) -> str | None:
    return None if graph.spec.profile is None else graph.spec.profile.uri


def shape_of(graph: EnsembleGraph) -> dict[str, Any]:
    """Gives, by words for people, what the steps of a running pipeline are made for."""
    found = plan(graph)
    stages = [
        (
            stage.name,
            sorted(stage.resources.items()),
            stage.gathering and (stage.gathering.node.spec.name, stage.gathering.max_wait),
        )
        for stage in found.stages
    ]
    return {
        "the columns that it reads": (graph.columns_read, graph.spec.truncated),
        "the columns that it adds": graph.outputs,
        "its stages": stages,
        "the columns between its stages": alive_between(graph, found),
    }


@dataclasses.dataclass(frozen=True, slots=True)
class Version:
    """One version of a stage.

    Attributes:
        digest: Digest of the ensemble that it is of.
        code: What the stage does.
        stage: Its loaded members.
    """

    digest: str
    code: StageCode
    stage: Stage


class RefreshedStage:
    """A loaded stage and whoever looks for the next version of it.

    With a gate, the first stage alone looks: it compares all stages of a new version with the lock. A later stage loads
    a version when the first one has scored a batch with it.

    Args:
        code: What the stage does, when the pipeline was made.
        watch: The files to look at.
        load: Loads a version.

    Raises:
        EnsembleError: The files are no longer those with which the pipeline was made, and their new version cannot be
            taken.
    """

    def __init__(self, code: StageCode, watch: Watch, load: Callable[[StageCode], Stage]) -> None:
        self._code, self._watch, self._load_stage = code, watch, load
        self._nodes: tuple[CheckedNode, ...] = code.nodes
        self._profile = watch.profile
        self._state: Any = None
        self._events: list[str] = []
        self._lock = threading.Lock()
        self._versions: dict[str, Version] = {}
        self._newest = ""
        if self._is_as_made():
            version = Version(watch.digest, code, load(code))
            if self._is_as_made():
                self._keep(version)
        if self._waits:
            return
        refused = self.look()  # the files may be others by now than when the pipeline was made
        if not self._versions:
            text = f"ensemble '{code.ensemble}' has changed since its pipeline was made, and cannot go on"
            raise EnsembleError(f"{text}: {refused}")
        self._ended = threading.Event()
        weakref.finalize(self, self._ended.set)
        threading.Thread(
            target=_look, args=(weakref.ref(self), self._ended, watch.interval), daemon=True, name="refresh"
        ).start()

    def _is_as_made(self) -> bool:
        """Whether the stage's files are those with which the pipeline was made."""
        return node_digests(self._code.nodes).items() <= self._watch.nodes.items()

    @property
    def _waits(self) -> bool:
        """Whether the stage waits until the first stage has scored a batch with a new version."""
        return self._watch.gate is not None and self._watch.stage > 0

    def newest(self) -> Version:
        """Returns the version with which a batch of the first stage is scored."""
        self._write_events()
        return self._versions[self._newest]

    def version(self, digest: str) -> Version:
        """Returns the version with which the first stage scored a batch.

        Raises:
            EnsembleError: That version is gone: its files have changed again before this worker read them.
        """
        self._write_events()
        found, refused = self._versions.get(digest), None
        if found is None:
            refused = self.look(digest)
            found = self._versions.get(digest)
        if found is None:
            text = f"version {digest} of ensemble '{self._code.ensemble}' is gone: its files changed again"
            why = "" if refused is None else f" ({refused})"
            raise EnsembleError(
                f"{text} before this worker could read them{why}; the bundle is to be tried again"
            )
        return found

    def look(self, wanted: str | None = None) -> str | None:
        """Looks whether there is another version, and takes it; one that cannot be taken is logged and counted.

        Args:
            wanted: The digest of the version that a batch has come with, if any.

        Returns:
            Why there is another version that cannot be taken; None where there is none.
        """
        with self._lock, logs.about(self._code.ensemble):
            try:
                text = self._watch.current_text()
                state = self._watch.state(text, self._nodes, self._profile)
                if state == self._state and not self._waits:
                    return None
                self._state = state
                self._take(text, wanted)
            except Exception as error:  # whatever is wrong with new files, the old version goes on
                self._events.append(names.REFUSED_REFRESHES)
                if isinstance(error, Refused):
                    self._events.append(names.REFUSED_BY_GATE)
                text = str(error) if isinstance(error, EnsembleError) else described(error)
                _LOGGER.warning("ensemble '%s' stays as it is: %s", self._code.ensemble, text)
                return text
            return None

    def _take(self, text: str, wanted: str | None) -> None:
        graph = self._watch.graph(text)
        self._nodes, self._profile = graph.nodes, _profile_of(graph)
        digest = digest_of(graph)
        if self._waits and digest != wanted:
            return
        if digest == self._newest:
            return
        self._keep(self._load(graph, digest))
        self._events.append(names.REFRESHES)
        _LOGGER.info("ensemble '%s' goes on as version %s", self._code.ensemble, digest)

    def _keep(self, version: Version) -> None:
        """Goes on with a version; the one before it stays for batches on their way."""
        self._versions = {one.digest: one for one in [*self._versions.values(), version][-_KEPT:]}
        self._newest = version.digest

    def _load(self, graph: EnsembleGraph, digest: str) -> Version:
        codes = self._codes(graph, digest)
        code = codes[self._watch.stage]
        stage = self._load_stage(code)
        if self._watch.gate is not None and not self._waits:
            self._watch.gate.check(self._code.ensemble, codes, stage)
        if digest_of(graph) != digest:
            self._state = None
            raise EnsembleError("its files changed while they were read; they are looked at again")
        return Version(digest, code, stage)

    def _codes(self, graph: EnsembleGraph, digest: str) -> list[StageCode]:
        """Returns what each stage of a version does."""
        stages, provenance = plan(graph), self._code.provenance
        if provenance is not None:
            provenance = dataclasses.replace(provenance, digest=digest)
        return [
            dataclasses.replace(
                self._code,
                nodes=stage.nodes,
                alive=alive,
                provenance=provenance,
                profile=graph.profile if at == 0 else None,
            )
            for at, (stage, alive) in enumerate(
                zip(stages.stages, (*alive_between(graph, stages), None), strict=True)
            )
        ]

    def _write_events(self) -> None:
        """Counts what happened meanwhile: metrics can only be written while a bundle is processed."""
        while self._events:
            Metrics.counter(self._code.ensemble, self._events.pop()).inc()


def _look(of: weakref.ref[RefreshedStage], ended: threading.Event, interval: float) -> None:
    while not ended.wait(interval):
        stage = of()
        if stage is None:
            return
        stage.look()
        del stage
