"""What the code of a bundle needs where it runs: requirements and wheels, which a stranger may have written."""

from __future__ import annotations

from collections.abc import Set
from typing import Final

from packaging.markers import UndefinedComparison, UndefinedEnvironmentName
from packaging.requirements import InvalidRequirement, Requirement
from packaging.tags import Tag
from packaging.utils import InvalidWheelFilename, parse_wheel_filename

_LONGEST: Final = 1_000
_MOST_DOTS: Final = 32
"""Of a wheel's name: it stands for the product of all that its tags list."""


def requirement_of(text: str) -> Requirement:
    """Reads a line such as ``rapidfuzz>=3,<4; python_version < "3.13"``.

    Raises:
        ValueError: It is no such thing.
    """
    try:
        if len(text) > _LONGEST:
            raise InvalidRequirement
        found = Requirement(text)
        is_wanted(found)
    except (InvalidRequirement, UndefinedComparison, UndefinedEnvironmentName, RecursionError) as exc:
        raise ValueError(f"{text[:200]!r} is not a requirement such as 'name>=1,<2'") from exc
    return found


def is_wanted(requirement: Requirement) -> bool:
    """Returns whether this Python is one of those that a requirement is for."""
    return requirement.marker is None or requirement.marker.evaluate({"extra": ""})


def tags_of(wheel: str) -> Set[Tag]:
    """Returns which Pythons and machines a wheel is for, by its file's name.

    Raises:
        ValueError: It is not the name of a wheel.
    """
    try:
        if wheel.count(".") > _MOST_DOTS:
            raise InvalidWheelFilename
        return parse_wheel_filename(wheel)[3]
    except InvalidWheelFilename as exc:
        raise ValueError(f"{wheel[:200]!r} is not the name of a wheel") from exc
