"""The token that callers send, in a file that may be replaced while the service runs."""

from __future__ import annotations

import hmac
import logging
import os
import stat
import threading
from typing import Final

from beam_ensembles.files.local_files import open_regular
from beam_ensembles_service.file_version import Version, version_of
from beam_ensembles_service.usage import UsageError

_LOGGER: Final = logging.getLogger(__name__)
MIN_CHARACTERS: Final = 16
_MAX_BYTES: Final = 4_096
_SCHEME: Final = "bearer"


class TokenFile:
    """A file that holds one token.

    Args:
        path: The file.

    Raises:
        UsageError: It cannot be read, or does not hold one valid token.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._version: Version | None = version_of(path)
        self._token: bytes | None = _read(path)
        if stat.S_IMODE(os.stat(path).st_mode) & stat.S_IROTH:
            _LOGGER.warning("the token file '%s' can be read by every user of this machine: chmod 600", path)

    def accepts(self, authorization: str | bytes) -> bool:
        """Whether a header ``authorization`` holds the token that is in the file now.

        It accepts nothing while the file is missing or invalid.
        """
        text = authorization.encode() if isinstance(authorization, str) else authorization
        scheme, _, given = text.partition(b" ")
        token = self._current()
        is_same = hmac.compare_digest(given.strip(), token or b"")
        return token is not None and is_same and scheme.lower() == _SCHEME.encode()

    def _current(self) -> bytes | None:
        with self._lock:
            version = version_of(self._path)
            if version != self._version:
                self._version = version
                try:
                    self._token = _read(self._path)
                    _LOGGER.info("read the token file '%s' again", self._path)
                except UsageError as error:
                    self._token = None
                    _LOGGER.error("%s; nobody is let in until it is", error)
            return self._token


def _read(path: str) -> bytes:
    try:
        with open_regular(path) as file:
            token = file.read(_MAX_BYTES + 1).strip()
    except OSError as exc:
        why = exc.strerror or "it is not a regular file"
        raise UsageError(f"--token-file: '{path}' cannot be read: {why}") from exc
    if not MIN_CHARACTERS <= len(token) <= _MAX_BYTES or any(not 33 <= byte <= 126 for byte in token):
        allowed = (
            f"one token of {MIN_CHARACTERS} to {_MAX_BYTES:,} printable ASCII characters, without blanks"
        )
        raise UsageError(f"--token-file: '{path}' must hold {allowed}")
    return token
