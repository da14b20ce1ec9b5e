"""``python -m tests.support.secured FOLDER``: ``tests.support.bundled``, with a service that requires TLS and a token.

The folder holds what its clients need: ``ca.pem``, ``client.pem``, ``client.key`` and ``token``.
"""

from __future__ import annotations

import contextlib
import dataclasses
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.support import bundled
from tests.support.authority import Authority

TOKEN = "a-token-of-the-tests"


@dataclasses.dataclass(frozen=True)
class Secured:
    """A service and what its clients need.

    Attributes:
        bundled: The service, which requires TLS with a client certificate and a token, and its workers.
        ca: The certificate of the CA that signed all others.
        cert: The client's certificate.
        key: Its private key.
        token: The file of the token.
    """

    bundled: bundled.Bundled
    ca: Path
    cert: Path
    key: Path
    token: Path


@contextlib.contextmanager
def running(folder: Path) -> Iterator[Secured]:
    """Start a service and its workers for a bundle in a folder, which also gets the files of clients."""
    authority = Authority(folder, "ca")
    own, client = authority.issue("service", ["127.0.0.1", "localhost"]), authority.issue("client")
    token = folder / "token"
    token.touch(0o600)
    token.write_text(f"{TOKEN}\n")
    flags = ("--tls-cert", own.cert, "--tls-key", own.key, "--tls-client-ca", authority.file)
    with bundled.running(folder, *map(str, flags), "--token-file", str(token)) as found:
        yield Secured(found, authority.file, client.cert, client.key, token)


def main() -> None:
    """Prints the service's address and the bundle's path, and ends with standard input."""
    with running(Path(sys.argv[1])) as found:
        print(f"{found.bundled.service.address} {found.bundled.bundle}", flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main()
