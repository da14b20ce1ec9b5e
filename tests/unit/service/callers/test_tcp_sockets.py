"""The sockets that ``/proc/net`` lists."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from beam_ensembles_service.callers import tcp_sockets
from beam_ensembles_service.callers.tcp_sockets import client_sockets, endpoint_of, listening_sockets

pytestmark = pytest.mark.skipif(not os.path.exists("/proc/net/tcp"), reason="needs Linux's /proc")


@pytest.mark.parametrize(
    ("peer", "endpoint"),
    [
        ("ipv4:127.0.0.1:5", "127.0.0.1:5"),
        ("ipv6:[::1]:5", "[::1]:5"),
        ("ipv6:%5B::ffff:10.0.0.1%5D:5", "10.0.0.1:5"),
        ("ipv6:[fe80::1%25eth0]:5", "[fe80::1%eth0]:5"),
        ("unix:/run/s", None),
        ("ipv4:host:5", None),
        ("ipv4:127.0.0.1", None),
        ("", None),
    ],
)
def test_a_peer_is_an_address_and_a_port(peer: str, endpoint: str | None) -> None:
    found = endpoint_of(peer)
    assert (None if found is None else str(found)) == endpoint


def test_a_user_without_a_number_in_this_namespace_is_unknown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    users, nobody = tmp_path / "uid_map", tmp_path / "overflowuid"
    nobody.write_text(f"{os.geteuid()}\n")
    monkeypatch.setattr(tcp_sockets, "_USERS", users)
    monkeypatch.setattr(tcp_sockets, "_NOBODY", nobody)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        for mapped, user in (("0 0 4294967295", os.geteuid()), ("0 100000 65536", None)):
            users.write_text(f"{mapped}\n")
            assert [one.user for one in listening_sockets(port)] == [user]
        users.unlink()  # a kernel without namespaces
        assert [one.user for one in listening_sockets(port)] == [os.geteuid()]
        users.mkdir()  # which cannot be read, as where no file can be opened
        assert listening_sockets(port) == []


def test_a_socket_that_one_process_closed_is_nobodys() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        with socket.create_connection(("127.0.0.1", port)) as caller:
            peer = endpoint_of(f"ipv4:127.0.0.1:{caller.getsockname()[1]}")
            assert peer is not None
            (row,) = client_sockets(peer, port)
            assert (row.local, row.remote.port, row.user) == (peer, port, os.geteuid())
        assert client_sockets(peer, port) == []
