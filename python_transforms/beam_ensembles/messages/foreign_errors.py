"""Quote other libraries' exceptions in messages: short, on one line, without stack traces.

XGBoost appends its C++ stack, Keras a model's whole configuration and the values it was called with, TorchScript and
remote workers a Python traceback, ONNX Runtime the path and signature in its own sources.
"""

from __future__ import annotations

import re
from typing import Final

from beam_ensembles.limits import LONGEST_FOREIGN
from beam_ensembles.messages.printable import truncate

_LONGEST_READ: Final = 20_000
"""Characters that are looked at, from each end of a text."""
_LONGEST_CAUSE: Final = 150
_TRACE: Final = re.compile(
    r"^[^\n]*\(most recent call last\):\n(?:[ \t][^\n]*\n|[ \t]*\n)*"
    r"|^The following operation failed in the TorchScript interpreter\.\n",
    re.MULTILINE,
)
"""A Python traceback without its last line, which says what was raised."""
_REST: Final = re.compile(
    r"\n(?:Stack trace:|Exception raised from |(?:Call arguments|Arguments) received by |Full object config:).*",
    re.DOTALL,
)
"""Where a text turns to native frames, to values of rows, or to a model's configuration."""
_INNER: Final = "Exception encountered: "
"""Behind it Keras quotes the exception that it met."""
_NOISE: Final = (
    re.compile(r"\x1b\[[0-9;]*m"),
    re.compile(  # transformers: the classes that it tried, before what each of them said
        r" with any of the following classes: [^\n]*\. See the original errors:\s*"
        r"while loading with \w+, an error is thrown:(?=\s)"
    ),
    re.compile(r"^\[\d\d:\d\d:\d\d\] \S+:\d+: "),  # XGBoost: the time and a line of its sources
    re.compile(  # ONNX Runtime: a line of its sources and the function there
        r"/[\w./-]{1,200}\.(?:cc|cpp|cu|cuh|h|hpp):\d+ "
        r"(?:[\w:<>*&, ]{0,200}::[\w~<>]{1,99}\([^()]{0,999}\)(?:::<lambda\([^()]{0,99}\)>)?"
        r"(?: const)?(?: \[with [^\]]{0,999}\])? )?"
    ),
    re.compile(  # TensorFlow: the node and the operation
        r"\{\{function_node [^}]{0,999}\}\} ?|\[\[\{\{node [^}]{0,999}\}\}\]\]|\[Op:[^\]]{0,999}\](?: name: ?)?"
    ),
)


def text_of(error: BaseException) -> str:
    """Returns what a foreign exception says, first line first, in at most ``LONGEST_FOREIGN`` characters.

    Args:
        error: What another library or the user's code raised.

    Returns:
        One line without stack traces and source paths; where the exception was raised from another one, what that one
        said is added unless it is there already. Empty where it says nothing.
    """
    text, cause = _text(error), _last_cause(error)
    named = "" if cause is None else truncate(_named(cause, _text(cause)), _LONGEST_CAUSE)
    if cause is None or not named or _text(cause) in text:
        return truncate(text, LONGEST_FOREIGN)
    behind = f" (cause: {named})"
    return f"{truncate(text, LONGEST_FOREIGN - len(behind))}{behind}"


def described(error: BaseException) -> str:
    """Returns a foreign exception's type and what it says (``text_of``)."""
    return _named(error, text_of(error))


def quoted(text: str) -> str:
    """Returns a text of another library or server for a message, as ``text_of`` does an exception's."""
    return truncate(_plain(text), LONGEST_FOREIGN)


def _named(error: BaseException, text: str) -> str:
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _text(error: BaseException) -> str:
    try:
        return _plain(str(error))
    except Exception:  # an exception of somebody else's may fail to say anything
        return ""


def _plain(text: str) -> str:
    if len(text) > 2 * _LONGEST_READ:
        text = f"{text[:_LONGEST_READ]}\n{text[-_LONGEST_READ:]}"
    for noise in _NOISE:
        text = noise.sub("", text)
    text = _REST.sub("", _TRACE.sub("", text).rpartition(_INNER)[2])
    return " ".join(text.split())


def _last_cause(error: BaseException) -> BaseException | None:
    """Returns the last of the exceptions that one was raised from (``raise ... from``), or None."""
    seen = {id(error)}
    found = None
    while error.__cause__ is not None and id(error.__cause__) not in seen:
        found = error = error.__cause__
        seen.add(id(error))
    return found
