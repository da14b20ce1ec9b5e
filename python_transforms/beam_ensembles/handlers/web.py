"""Files of the web, through requests; Beam's FileSystems (2.77) open no http(s) URLs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final
from urllib.parse import unquote, urljoin, urlsplit

from beam_ensembles.errors import EnsembleError

SCHEMES: Final = ("http", "https")
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
    """A web server sent the reader to another host, which nobody allowed."""


def is_web(place: str) -> bool:
    """Says whether an absolute URI is a web address."""
    return urlsplit(place).scheme.lower() in SCHEMES


def open_web(get: Callable[..., Any], url: str, seconds: float = _SILENCE_SECONDS) -> Any:
    """Opens a URL; follows redirects only within its own host, since only that one was allowed.

    Args:
        get: ``requests.get``, or that of a session.
        url: The URL.
        seconds: How long the server may be silent.

    Returns:
        requests' answer, with the status 200; its content was not read yet.

    Raises:
        WebRefusal: The server gives another answer.
        OtherHost: It leads to another host.
    """
    found = url
    timeout = (min(_CONNECT_SECONDS, seconds), min(_SILENCE_SECONDS, seconds))
    for _ in range(_MOST_REDIRECTS):
        answer = get(found, stream=True, timeout=timeout, allow_redirects=False)
        if not answer.is_redirect:
            break
        answer.close()
        target = urljoin(found, unquote(answer.headers["location"]))
        if urlsplit(target)[:2] != urlsplit(url)[:2]:
            raise OtherHost(f"'{url}' leads to another host: name '{target}' itself, and allow its host")
        found = target
    if answer.status_code != 200:
        answer.close()
        text = f"'{url}' cannot be read: the server says {answer.status_code} {answer.reason}"
        raise WebRefusal(text, answer.status_code)
    return answer
