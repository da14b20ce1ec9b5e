"""Files of the web, through requests; Beam's FileSystems (2.77) open no http(s) URLs."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Final
from urllib.parse import urljoin

from beam_ensembles.errors import EnsembleError
from beam_ensembles.files.deadlines import call_within
from beam_ensembles.files.uris import AmbiguousUri, canonical, is_below, origin

_CONNECT_SECONDS: Final = 10.0
_SILENCE_SECONDS: Final = 60.0
"""How long a web server may be silent in the middle of an answer."""
_MOST_REDIRECTS: Final = 5


class WebRefusal(EnsembleError):
    """A web server answered, but with something else than the file.

    Args:
        message: What it said.
        status: The status of its answer.
    """

    def __init__(self, message: str, status: int) -> None:
        self.status = status
        super().__init__(message)


class OtherHost(EnsembleError):
    """A web server sent the reader to another place, which nobody allowed."""


def is_within(prefixes: tuple[str, ...]) -> Callable[[str], bool]:
    """Returns a function that says whether a URL lies below one of some prefixes."""
    return lambda url: any(is_below(url, prefix) for prefix in prefixes)


def anywhere(_: str) -> bool:
    """Returns True: redirects may lead to every place of the same host."""
    return True


def open_web(
    get: Callable[..., Any],
    url: str,
    seconds: float = _SILENCE_SECONDS,
    may_follow: Callable[[str], bool] = anywhere,
) -> Any:
    """Opens a URL; follows redirects only within its own scheme, host and port, since only those were allowed.

    Args:
        get: ``requests.get``, or that of a session.
        url: The URL.
        seconds: How long the server may be silent, and may take until its answer begins.
        may_follow: Whether a place of that host may be read; every redirect is asked about.

    Returns:
        requests' answer, with the status 200; its content was not read yet.

    Raises:
        WebRefusal: The server gives another answer.
        OtherHost: It leads to another host, or to a place that may not be read.
        TookTooLong: It does not answer in time.
    """
    found = url
    timeout = (min(_CONNECT_SECONDS, seconds), min(_SILENCE_SECONDS, seconds))
    for _ in range(_MOST_REDIRECTS):
        try:
            options = {"stream": True, "timeout": timeout, "allow_redirects": False, "auth": _no_credentials}
            ask = functools.partial(get, found, **options)
            answer = call_within(seconds, ask, f"waiting for an answer of '{found}'")  # headers may drip, too
        # requests parses where a redirect leads, though it is told not to follow it.
        except ValueError as exc:
            raise OtherHost(f"'{url}' cannot be read, or leads to a place that is not a URL") from exc
        if not answer.is_redirect:
            break
        answer.close()
        found = _followed(url, found, answer.headers["location"], may_follow)
    if answer.status_code != 200:
        answer.close()
        text = f"'{url}' cannot be read: the server says {answer.status_code} {answer.reason}"
        raise WebRefusal(text, answer.status_code)
    return answer


def _no_credentials(request: Any) -> Any:
    """Returns a request as it is: by itself, requests would send what this user's ``~/.netrc`` has for the host."""
    return request


def _followed(url: str, found: str, location: str, may_follow: Callable[[str], bool]) -> str:
    """Returns where a redirect leads, in the spelling that was compared."""
    try:
        target = canonical(urljoin(found, location))
        same = origin(target) == origin(url)
    except ValueError as exc:
        said = str(exc) if isinstance(exc, AmbiguousUri) else "it is not a URL"
        raise OtherHost(f"'{url}' leads to a place that cannot be followed: {said}") from exc
    if not same:
        raise OtherHost(f"'{url}' leads to another host: name '{target}' itself, and allow its host")
    if not may_follow(target):
        raise OtherHost(f"'{url}' leads to '{target}', which may not be read in its place; name it itself")
    return target
