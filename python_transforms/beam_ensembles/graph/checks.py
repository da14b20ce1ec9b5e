"""A parsed file and the table of kinds to a checked graph; everything that is wrong is reported together."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from types import NoneType
from typing import TYPE_CHECKING, Any, Final, TypeVar

from beam_ensembles.errors import (
    ENDS_THE_PROGRAM,
    EnsembleError,
    InvalidEnsemble,
    Problem,
    few_suggestions,
    listed,
    nearest,
)
from beam_ensembles.files.ensemble_files import FileProblem, Files
from beam_ensembles.graph.class_meanings import Meaning, contradiction, declared
from beam_ensembles.graph.environment import check_environment
from beam_ensembles.graph.expressions.pattern_allowance import few_patterns
from beam_ensembles.graph.follow_up_problems import Doubts, doubts
from beam_ensembles.graph.kinds import (
    CheckedNode,
    Kind,
    Kinds,
    NodeView,
    UnusableKind,
    mistakes_of,
    options_of,
    reads_nulls,
)
from beam_ensembles.graph.model import EnsembleGraph
from beam_ensembles.graph.names import Names, check_names, names_of
from beam_ensembles.graph.option_checks import check_options
from beam_ensembles.graph.options import Mistake
from beam_ensembles.graph.order import topological
from beam_ensembles.graph.policies import (
    check_defaults,
    check_shadows,
    compared,
    gives_nulls,
    policies,
)
from beam_ensembles.interruption import Interrupted, checkpoint
from beam_ensembles.limits import MOST_FIELDS
from beam_ensembles.messages.foreign_errors import described
from beam_ensembles.spec.document import read_document
from beam_ensembles.spec.language import EXPRESSION_KEYS
from beam_ensembles.spec.load import examine_text, without_echo
from beam_ensembles.spec.model import EnsembleSpec, NodeSpec
from beam_ensembles.spec.parameters import not_known
from beam_ensembles.spec.places import in_order
from beam_ensembles.types import PORTABLE_SCALARS, Type, fields_within, is_portable, widened

if TYPE_CHECKING:
    from beam_ensembles.graph.profile_check import CheckedProfile

_T = TypeVar("_T")
_NO_TYPES: Final[Mapping[str, Type | None]] = {}
_NO_MEANINGS: Final[Mapping[str, Meaning] | None] = {}


def check_text(
    text: str,
    kinds: Kinds,
    files: Files,
    *,
    parameters: Mapping[str, str] | None = None,
    with_profile: bool = True,
) -> EnsembleGraph:
    """Reads and checks an ensemble file's text in one go.

    Args:
        text: YAML or JSON.
        kinds: The table of all kinds.
        files: Where the files are that it names.
        parameters: Values of ``${name}``.
        with_profile: Whether the profile of its inputs counts; one who learns it anew has none yet.

    Raises:
        InvalidEnsemble: With everything that is wrong, in the order of the file.
    """
    with few_suggestions(), few_patterns():
        spec, problems = examine_text(text, options_of(kinds), base_uri=files.base_uri, parameters=parameters)
        if spec is None:
            raise InvalidEnsemble(problems)
        if not with_profile:
            spec = dataclasses.replace(spec, profile=None)
        graph = _checked(spec, kinds, files, problems)
        if unknown := not_known(parameters or {}, spec.parameters, "the file"):
            found = [Problem("parameters", "unknown_parameter", said) for said in unknown]
            raise InvalidEnsemble(found, ensemble=graph.spec.name)
        return graph


def check(spec: EnsembleSpec, kinds: Kinds, files: Files) -> EnsembleGraph:
    """Checks a parsed file.

    Args:
        spec: The file.
        kinds: The table of all kinds.
        files: Where the files are that it names.

    Returns:
        The graph, its nodes in the order in which they run.

    Raises:
        InvalidEnsemble: With everything that is wrong, in the order of the file.
    """
    with few_suggestions(), few_patterns():
        return _checked(spec, kinds, files, ())


def _checked(spec: EnsembleSpec, kinds: Kinds, files: Files, known: Sequence[Problem]) -> EnsembleGraph:
    checker = _Checker(spec, kinds, files, doubts(spec, known))
    graph = checker.graph()
    problems = [*known, *without_echo(checker.problems, known)]
    if graph is None or problems:
        raise InvalidEnsemble(in_order(problems, read_document(spec.text).places), ensemble=spec.name or None)
    return graph


class _Checker:
    """The checks of one file; ``problems`` takes what they find, ``warnings`` what they could not check."""

    def __init__(self, spec: EnsembleSpec, kinds: Kinds, files: Files, doubts: Doubts) -> None:
        self._spec, self._kinds, self._files, self._doubts = spec, kinds, files, doubts
        self._names = names_of(spec, doubts)
        self._types = _declared_types(spec, self._names)
        self._policies = policies(spec)
        self._nodes = {node.name: node for node in spec.nodes}
        self._meanings: dict[str, Meaning] = {}
        self._fields_left = MOST_FIELDS
        self.problems: list[Problem] = []
        self.warnings: list[Problem] = []
        self._notes: dict[str, list[str]] = {}
        self._arms: dict[str, Sequence[str]] = {}

    def graph(self) -> EnsembleGraph | None:
        self.problems.extend(check_names(self._spec, self._names, self._doubts))
        nodes = [self._check_node(node) for node in self._in_running_order()]
        self.problems.extend(check_shadows(self._spec, self._types))
        self.problems.extend(check_environment(self._spec, self._files))
        self.problems.extend(_check_portable(self._spec, self._names, self._types))
        outputs = {column: self._types.get(column) for column in self._names.outputs(self._spec)}
        checked = tuple(node for node in nodes if node is not None)
        settled = tuple((column, type_) for column, type_ in outputs.items() if type_ is not None)
        is_whole = len(checked) == len(nodes) and len(settled) == len(outputs)
        if any(self._arms.values()) and is_whole and not self.problems and not self._doubts.nodes:
            from beam_ensembles.graph.route_arms import unknown_arms

            makers = {column: self._nodes[name] for column, name in self._names.makers.items()}
            self.warnings.extend(unknown_arms(self._spec.nodes, makers, self._arms))
        graph = EnsembleGraph(self._spec, checked, settled) if is_whole else None
        profile = self._profile(graph)
        return graph and dataclasses.replace(graph, warnings=tuple(self.warnings), profile=profile)

    def _profile(self, graph: EnsembleGraph | None) -> CheckedProfile | None:
        if self._spec.profile is None:
            return None
        from beam_ensembles.graph.profile_check import check_profile

        read = [] if graph is None else [name for name, _ in graph.columns_read]
        told = self.problems.append, self.warnings.append
        return check_profile(self._spec.profile, dict(self._spec.inputs), read, self._files, *told)

    def _in_running_order(self) -> list[NodeSpec]:
        by_name = self._nodes
        predecessors = {name: self._names.predecessors(node) for name, node in by_name.items()}
        order, cycles = topological(list(by_name), predecessors)
        for cycle in cycles:
            text = self._names.cycle([by_name[name] for name in cycle])
            self.problems.append(Problem(by_name[cycle[0]].path(), "cycle", text))
        return [by_name[name] for name in (*order, *(name for cycle in cycles for name in cycle))]

    def _check_node(self, node: NodeSpec) -> CheckedNode | None:
        checkpoint()
        if not node.target:
            return None
        try:
            kind = self._kinds.get((node.kind, node.target))
        except UnusableKind as error:
            self.problems.append(Problem(node.path(node.kind), error.code, str(error)))
            return None
        if kind is None:
            self.problems.append(_no_such_kind(node, self._kinds))
            return None
        problems = list(check_options(node, kind))
        self.problems.extend(problems)
        if node.name not in self._doubts.nodes:
            if not self._has_room(node, (*node.columns, *node.when_columns), 1 + _expressions(node)):
                return None
            self._check_condition(node)
            types = self._ask(node, kind, {problem.path for problem in problems})
            self.problems.extend(check_defaults(node, types))
            if gives_nulls(node, self._policies[node.name]):
                types = {column: type_ and type_.optional() for column, type_ in types.items()}
            self._types.update(types)
            if not self._has_room(node, tuple(types), 1):
                return None
        return self._settled(node, kind)

    def _has_room(self, node: NodeSpec, columns: Sequence[str], times: int) -> bool:
        """Counts the fields within rows, which each node and expression works on anew, before it does."""
        if self._fields_left < 0:
            return False
        found = (self._types.get(column) for column in columns)
        self._fields_left -= times * sum(fields_within(type_) for type_ in found if type_ is not None)
        if self._fields_left < 0:
            said = (
                f"the nodes up to this one read and add rows with more than {MOST_FIELDS:,} fields together"
            )
            text = f"{said}; take the fields that are needed out of large rows first"
            self.problems.append(Problem(node.path(), "too_large", text))
        return self._fields_left >= 0

    def _check_condition(self, node: NodeSpec) -> None:
        known = {column: self._types.get(column) for column in node.when_columns}
        if node.when is not None and None not in known.values():
            from beam_ensembles.graph.expressions.checks import check_condition

            place = node.path("when")
            check_condition(
                node.when,
                _known(known),
                lambda code, text: self.problems.append(Problem(place, code, text)),
            )

    def _ask(self, node: NodeSpec, kind: Kind, wrong: set[str]) -> dict[str, Type | None]:
        """Runs the kind's check of its node, without the options that are known to be wrong."""
        wrong_keys = {name for name in node.options if node.path(name) in wrong}
        sound = _without(node.options, wrong_keys)
        columns = node.inputs.columns if node.inputs is not None else ()
        inputs = {column: self._types[column] for column in columns if column in self._types}
        if not reads_nulls(kind, node):
            inputs = {column: type_ and type_.required() for column, type_ in inputs.items()}
        found: list[Problem] = []
        read = self._makers(node)
        spec = dataclasses.replace(node, options=sound)
        note = self._notes.setdefault(node.name, []).append
        told: dict[str, Meaning] = {}
        meanings = {column: self._meanings[column] for column in columns if column in self._meanings}
        view = NodeView(
            spec,
            kind.read(spec),
            inputs,
            self._files,
            found.append,
            read,
            self.warnings.append,
            note,
            meanings,
            told.__setitem__,
            wrong_keys,
        )
        mistakes: list[Mistake] = _answer_of(kind, view, mistakes_of, (list,), [])
        if mistakes:
            self.problems.extend(Problem(node.path(one.place), one.code, one.text) for one in mistakes)
            wrong = wrong | {node.path(one.place) for one in mistakes}
            wrong_keys = wrong_keys | {one.place for one in mistakes}
            spec = dataclasses.replace(spec, options=_without(sound, wrong_keys))
            view = dataclasses.replace(view, spec=spec, options=kind.read(spec), wrong=wrong_keys)
        view.options.check_node(view)
        types = _answer_of(kind, view, kind.check, (Mapping,), _NO_TYPES)
        wrong_labels = contradiction(spec, told)
        if wrong_labels is not None and node.path("labels") not in {problem.path for problem in found}:
            view.problem("signature_mismatch", "labels", wrong_labels)
        follows = _answer_of(kind, view, kind.meanings, (Mapping, NoneType), _NO_MEANINGS)
        told.update(follows or {})
        if not found and not mistakes and None not in inputs.values() and len(inputs) == len(columns):
            if not wrong:
                self._arms[node.name] = _answer_of(kind, view, kind.arms, (Sequence,), ())
            found.extend(_missing_types(node, types))
        self.problems.extend(problem for problem in found if problem.path not in wrong)
        own = [output.column for output in node.outputs if self._names.makers.get(output.column) == node.name]
        known = declared(spec, told)
        self._meanings.update({column: known[column] for column in own if column in known})
        return {column: types.get(column) for column in own}

    def _makers(self, node: NodeSpec) -> dict[str, NodeSpec]:
        makers = self._names.makers
        return {column: self._nodes[makers[column]] for column in node.columns if column in makers}

    def _settled(self, node: NodeSpec, kind: Kind) -> CheckedNode | None:
        inputs = {column: self._types.get(column) for column in node.columns}
        condition = {column: self._types.get(column) for column in node.when_columns}
        outputs = {output.column: self._types.get(output.column) for output in node.outputs}
        if None in (*inputs.values(), *outputs.values(), *condition.values()):
            return None
        place = self._place(node)
        beside = self._nodes.get(node.shadow_of or "")
        return CheckedNode(
            spec=node,
            kind=kind,
            inputs=_known(inputs),
            outputs=_known(outputs),
            uri=place,
            ensemble=self._spec.name,
            is_trusted=place is not None and self._files.is_trusted(place),
            condition=_known(condition),
            on_error=self._policies[node.name],
            takes_nulls=reads_nulls(kind, node) or "quorum" in node.options,
            compared=compared(node, beside) if beside is not None else (),
            makers=self._makers(node),
            files=self._files.for_workers(),
            notes=tuple(self._notes.get(node.name, ())),
            meanings={column: self._meanings[column] for column in inputs if column in self._meanings},
            told={column: self._meanings[column] for column in outputs if column in self._meanings},
        )

    def _place(self, node: NodeSpec) -> str | None:
        if node.file is None:
            return None
        try:
            return self._files.resolve(node.file)
        except FileProblem:
            return None  # its kind has reported it


def _without(options: Mapping[str, Any], keys: Set[str]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if name not in keys}


def _answer_of(
    kind: Kind, view: NodeView, ask: Callable[[NodeView], _T], shape: tuple[type, ...], instead: _T
) -> _T:
    """Asks a kind; a mistake in one that a distribution adds is a problem (``broken_plugin``).

    Args:
        kind: The kind.
        view: The node that it is asked about.
        ask: The kind's method.
        shape: The types that the method may return, the usual one first.
        instead: Returned where the kind is broken.
    """
    if kind.distribution is None:
        return ask(view)
    try:
        found = ask(view)
        if isinstance(found, shape):
            return found
        fault = f"'{ask.__name__}' returned a {type(found).__name__}, not a {shape[0].__name__}"
    except (EnsembleError, *ENDS_THE_PROGRAM, Interrupted):
        raise
    except BaseException as error:
        fault = f"'{ask.__name__}' failed with {described(error)}"
    text = f"the kind '{kind.name}' of the installed distribution {kind.distribution} is broken: its {fault}"
    advice = f"repair, update or uninstall {kind.distribution.name}"
    view.problem("broken_plugin", view.spec.kind, f"{text}; {advice}")
    return instead


def _expressions(node: NodeSpec) -> int:
    found = (node.options.get(name) for name in EXPRESSION_KEYS)
    return sum(len(one) for one in found if isinstance(one, dict | list))


def _known(types: Mapping[str, Type | None]) -> dict[str, Type]:
    return {column: type_ for column, type_ in types.items() if type_ is not None}


def _declared_types(spec: EnsembleSpec, names: Names) -> dict[str, Type | None]:
    types: dict[str, Type | None] = dict.fromkeys(names.inputs) | dict(spec.inputs)
    for node in spec.nodes:
        for output in node.outputs:
            types.setdefault(output.column, output.type)
    return types


def _missing_types(node: NodeSpec, types: Mapping[str, Type | None]) -> Iterator[Problem]:
    for output in node.outputs:
        if types.get(output.column) is None:
            text = (
                f"what '{output.column}' is cannot be told from the model; declare its type, such as double"
            )
            yield Problem(node.path("outputs", output.column), "missing_type", text)


def _check_portable(spec: EnsembleSpec, names: Names, types: Mapping[str, Type | None]) -> Iterator[Problem]:
    for column, type_ in spec.inputs:
        if not is_portable(type_):
            yield Problem(f"inputs.{column}", "not_portable", _not_portable(column, type_))
    for index, column in enumerate(names.outputs(spec)):
        found = types.get(column)
        if found is not None and not is_portable(found):
            by_node = f"nodes.{names.makers[column]}.outputs.{column}"
            place = by_node if spec.outputs is None else f"outputs[{index}]"
            yield Problem(place, "not_portable", _not_portable(column, found))


def _not_portable(column: str, type_: Type) -> str:
    portable = listed([*PORTABLE_SCALARS, "array<T>", "map<K,V>", "row<a: T>"])
    text = f"'{column}' is {type_}, which not every language has"
    return f"{text}; declare it {widened(type_)} (rows can carry {portable})"


def _no_such_kind(node: NodeSpec, kinds: Kinds) -> Problem:
    known = listed(sorted(name for key, name in kinds if key == node.kind), 20)
    near = nearest(node.target, [name for key, name in kinds if key == node.kind])
    elsewhere = [key for key, name in kinds if name == node.target]
    if elsewhere:
        near = f"; write '{elsewhere[0]}: {node.target}'"
    text = f"there is no {node.kind} {node.target!r}{near} (allowed: {known})"
    return Problem(node.path(node.kind), "unknown_kind", text)
