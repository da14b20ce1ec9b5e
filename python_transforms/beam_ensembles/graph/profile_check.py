"""The file of a profile: whether it may be read, is the pinned one, and is about the ensemble's inputs."""

from __future__ import annotations

import dataclasses
import hashlib
import math
from collections.abc import Callable, Iterable, Iterator, Mapping

from beam_ensembles.errors import ModelFormatError, Problem, nearest
from beam_ensembles.files.ensemble_files import FileProblem, Files, local_path
from beam_ensembles.files.local_files import open_regular
from beam_ensembles.graph.profile import ELEMENTS, NULLS, ColumnProfile, Profile, kind_of, read_profile
from beam_ensembles.limits import LARGEST_PROFILE
from beam_ensembles.spec.model import ProfileSpec
from beam_ensembles.types import Type, row_shape

_PLACE = "profile.uri"


@dataclasses.dataclass(frozen=True, slots=True)
class CheckedProfile:
    """A profile that may be read.

    Attributes:
        place: The absolute place of its file.
        inputs: The ensemble's inputs with their types.
        files: What may be read.
        pin: SHA-256 that the file must have; None: any.
        content: What it says; None where it lies elsewhere: workers read it there.
        digest: SHA-256 of what was read; empty where it lies elsewhere.
    """

    place: str
    inputs: Mapping[str, Type]
    files: Files
    pin: str | None = None
    content: Profile | None = None
    digest: str = ""


def check_profile(
    spec: ProfileSpec,
    inputs: Mapping[str, Type],
    read: Iterable[str],
    files: Files,
    report: Callable[[Problem], None],
    warn: Callable[[Problem], None],
) -> CheckedProfile | None:
    """Checks the profile that a file names.

    Args:
        spec: What the file says of it.
        inputs: The inputs with their types.
        read: Those that some node reads.
        files: What may be read.
        report: Takes what is wrong.
        warn: Takes what could not be checked.

    Returns:
        The profile, or None where something is wrong.
    """
    try:
        place = files.check(spec.uri)
    except FileProblem as problem:
        report(Problem(_PLACE, problem.code, str(problem)))
        return None
    checked = CheckedProfile(place, inputs, files.for_workers(), spec.sha256)
    if local_path(place) is None:
        return checked
    checked = read_checked(checked, place, report)
    content = checked.content
    if content is None:
        return None
    for name in read:
        if name in content.columns:
            continue
        text = f"the profile '{spec.uri}' does not know the input '{name}', which nothing is compared with"
        warn(Problem(_PLACE, "bad_profile", f"{text}; learn it again: beam-ensembles evaluate --profile"))
    return checked


def read_checked(checked: CheckedProfile, name: str, report: Callable[[Problem], None]) -> CheckedProfile:
    """Returns a profile with its content, read of a local file; without where something is wrong.

    Args:
        checked: Whose place is that of the local file.
        name: What people know the file by.
        report: Takes what is wrong.
    """
    try:
        with open_regular(local_path(checked.place) or checked.place) as file:
            data = file.read(LARGEST_PROFILE + 1)
    except OSError as error:
        report(Problem(_PLACE, "unreadable_file", f"'{name}' cannot be read: {error.strerror or error}"))
        return checked
    digest = hashlib.sha256(data).hexdigest()
    if checked.pin is not None and digest != checked.pin:
        text = f"the file '{name}' is not the pinned one: its SHA-256 is {digest}, not {checked.pin}"
        report(Problem("profile.sha256", "sha256_mismatch", text))
        return checked
    try:
        content = read_profile(data)
    except ModelFormatError as error:
        report(Problem(_PLACE, "bad_profile", f"'{name}' cannot be used: {error}"))
        return checked
    problems = list(_contradictions(content, checked.inputs, name))
    for problem in problems:
        report(problem)
    return checked if problems else dataclasses.replace(checked, content=content, digest=digest)


def _contradictions(profile: Profile, inputs: Mapping[str, Type], name: str) -> Iterator[Problem]:
    for column, learned in profile.columns.items():
        if column in inputs and not _fits(learned, inputs[column]):
            text = f"'{name}' knows the input '{column}' as {learned.type}, and it is {inputs[column]}"
            yield Problem(_PLACE, "bad_profile", f"{text}; learn it again")
    if profile.columns and not inputs.keys() & profile.columns.keys():
        first = next(iter(profile.columns))
        text = f"'{name}' is of other inputs: '{first}' is not one{nearest(first, inputs)}"
        yield Problem(
            _PLACE, "bad_profile", f"{text}; name the profile of ensemble '{profile.ensemble}' elsewhere"
        )


def _fits(learned: ColumnProfile, type_: Type) -> bool:
    kind = kind_of(type_)
    if learned.kind == NULLS:
        return True
    if learned.kind != kind:
        return False
    return kind != ELEMENTS or len(learned.numbers) == math.prod(row_shape(type_))
