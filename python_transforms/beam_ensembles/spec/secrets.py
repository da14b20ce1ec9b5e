"""Secrets in a file: it says where one is kept, and only a worker looks there.

``{secret: "env:NAME"}`` is a variable of the worker's environment, ``{secret: "file:/run/secrets/name"}`` a file on the
worker. ``prefix`` is put before what is found there: ``{secret: "env:TOKEN", prefix: "Bearer "}``. So a secret stands
neither in the file nor in the pipeline's description, and no message, log or ``repr`` has it.
"""

from __future__ import annotations

import dataclasses
import os
import re
from collections.abc import Mapping
from typing import Any, Final

from beam_ensembles.errors import listed, nearest

FORM: Final = '{secret: "env:NAME"} or {secret: "file:/absolute/path"}'
"""How a secret is written, for messages."""

_KEYS: Final = ("secret", "prefix")
_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_MOST_CHARACTERS: Final = 1 << 16


class SecretError(ValueError):
    """A secret is not written as one, or is not where it should be; the message says so in one line."""


@dataclasses.dataclass(frozen=True, slots=True)
class Secret:
    """Where a secret is kept.

    Attributes:
        place: ``env:NAME`` or ``file:/absolute/path``.
        prefix: The text before it, such as ``Bearer``.
    """

    place: str
    prefix: str = ""

    def reveal(self) -> str:
        """Looks the secret up on this machine; the line break at the end of a file is not part of it.

        Raises:
            SecretError: It is not there.
        """
        source, _, name = self.place.partition(":")
        found = os.environ.get(name) if source == "env" else _content(name)
        if not found:
            text = f"the environment variable '{name}'" if source == "env" else f"the file '{name}'"
            state = "is not there" if found is None else "is empty"
            raise SecretError(f"{text} with a secret of this node {state} on this worker")
        return self.prefix + found


def is_secret(value: Any) -> bool:
    """Returns whether a value of a file is meant as a secret."""
    return isinstance(value, Mapping) and "secret" in value


def read_secret(value: Mapping[str, Any]) -> Secret:
    """Reads a value that is meant as a secret.

    Raises:
        SecretError: It is not of the form that ``FORM`` says.
    """
    for key in value:
        if key not in _KEYS:
            raise SecretError(
                f"a secret takes no key {key!r}{nearest(str(key), _KEYS)} (keys: {listed(_KEYS)})"
            )
    place, prefix = value.get("secret"), value.get("prefix", "")
    if not isinstance(prefix, str):
        raise SecretError("the 'prefix' of a secret is a text")
    source, _, name = place.partition(":") if isinstance(place, str) else ("", "", "")
    is_variable = source == "env" and _VARIABLE.fullmatch(name) is not None
    is_file = source == "file" and name != "/" and os.path.isabs(name) and os.path.normpath(name) == name
    if not is_variable and not is_file:
        # The value may be the secret itself, so no message shows it.
        raise SecretError(f"'secret' says where a secret is kept, not what it is: write {FORM}")
    return Secret(str(place), prefix)


def _content(path: str) -> str | None:
    try:
        with open(path, encoding="utf-8") as file:
            return file.read(_MOST_CHARACTERS).rstrip("\r\n")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as exc:
        reason = exc.strerror if isinstance(exc, OSError) else "it is not UTF-8"
        raise SecretError(f"the file '{path}' with a secret of this node cannot be read: {reason}") from None
