"""Another user of this machine calls the service and the pool of workers; root and the own user may."""

from __future__ import annotations

import contextlib
import os
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from typing import Any, cast

import grpc
import pytest

from beam_ensembles_service.callers import tcp_sockets, users
from beam_ensembles_service.callers.flags import Access
from beam_ensembles_service.callers.tcp_sockets import client_sockets, endpoint_of
from beam_ensembles_service.callers.users import Callers
from tests.support.callers import NOBODY, call_as
from tests.support.patience import SECONDS
from tests.support.service import RunningService, running_service

pytestmark = pytest.mark.skipif(not os.path.exists("/proc/net/tcp"), reason="needs Linux's /proc")
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can call as another user")
DAEMON = 1
POOL = ("start", "stop")
MAY_NOT = r"PERMISSION_DENIED: user .*\(65534\) may not call: only root and user .* may \(--allow-user adds others\)"


@contextlib.contextmanager
def running_workers(*flags: str) -> Iterator[str]:
    command = [sys.executable, "-m", "beam_ensembles.cli.main", "workers", "--port=0", "--stop-with-stdin"]
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen([*command, *flags], **pipes) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().split()[-1]
        finally:
            process.kill()


RELAY = """
import encodings.idna, os, socket, sys, threading
own, port = sys.argv[1], int(sys.argv[2])
os.setgroups([])
os.setgid(65534)
os.setuid(65534)
def pump(source, sink):
    try:
        while block := source.recv(65536):
            sink.sendall(block)
    except OSError:
        pass
    for end in (source, sink):
        try:
            end.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
listening = socket.create_server(("127.0.0.1", 0))
print(listening.getsockname()[1], flush=True)
while True:
    taken, _ = listening.accept()
    made = socket.create_connection(("127.0.0.1", port), source_address=(own, 0))
    for ends in ((taken, made), (made, taken)):
        threading.Thread(target=pump, args=ends, daemon=True).start()
"""


@contextlib.contextmanager
def relayed(address: str, own: str) -> Iterator[str]:
    """Relays connections as user nobody, whose own end has an address of this machine other than a loopback one."""
    command = [sys.executable, "-c", RELAY, own, address.rpartition(":")[2]]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield f"127.0.0.1:{process.stdout.readline().strip()}"
        finally:
            process.kill()


def _own_address() -> str:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # nothing is sent
        except OSError:
            pytest.skip("this machine has only loopback addresses")
        own = str(probe.getsockname()[0])
    if own.startswith("127."):
        pytest.skip("this machine has only loopback addresses")
    return own


def outcome(found: dict[str, str], kind: str) -> str:
    return found[kind].partition(":")[0]


@pytest.fixture(scope="module")
def service() -> Iterator[RunningService]:
    """A service for this machine, whose pool starts workers, and which another user may call, too."""
    with running_service("--serve-loopback-worker", "--allow-user", str(DAEMON)) as running:
        yield running


@as_root
def test_another_user_is_refused_by_each_service_but_the_health(service: RunningService) -> None:
    found, allowed, own = call_as([NOBODY, DAEMON, os.getuid()], service.address)
    assert found.pop("health") == "OK"
    assert len(found) == 7
    for said in found.values():
        assert re.fullmatch(MAY_NOT, said)
    assert "refused a caller at ipv4:127.0.0.1:" in service.log
    for one in (allowed, own):
        assert {outcome(one, kind) for kind in ("expand", "discover", "reflect", *POOL)} == {"OK"}


def other_address() -> str | None:
    """Returns an IPv4 address of this machine that is not of loopback."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe, contextlib.suppress(OSError):
        probe.connect(("192.0.2.1", 9))  # sends nothing
        return str(probe.getsockname()[0])
    return None


@as_root
@pytest.mark.skipif(other_address() is None, reason="needs an address that is not of loopback")
def test_another_user_is_refused_from_each_address_of_the_machine(service: RunningService) -> None:
    """Linux lets a client of 127.0.0.1 bind any address of the machine."""
    place = f"{service.address}@{other_address()}"
    found, own = call_as([NOBODY, os.getuid()], place)
    assert found.pop("health") == "OK"
    assert {outcome(found, kind) for kind in found} == {"PERMISSION_DENIED"}
    assert re.fullmatch(MAY_NOT, found["expand"])
    assert {outcome(own, kind) for kind in ("expand", "discover", "reflect")} == {"OK"}


@as_root
def test_another_user_is_refused_from_any_address_of_this_machine(service: RunningService) -> None:
    with relayed(service.address, _own_address()) as address:
        (found,) = call_as([os.getuid()], address)
    assert found.pop("health") == "OK"
    starting = {kind: found.pop(kind) for kind in POOL}
    assert all("serves only runners on its own machine" in said for said in starting.values())
    assert all(re.fullmatch(MAY_NOT, said) for said in found.values())


@as_root
def test_another_user_starts_no_worker_of_a_pool() -> None:
    with running_workers() as address:
        (found,) = call_as([NOBODY], address)
        assert found["health"] == "OK"
        assert all(re.fullmatch(MAY_NOT, found[kind]) for kind in POOL)


@as_root
def test_a_service_for_the_network_still_starts_workers_for_no_other_user() -> None:
    with running_service("--serve-loopback-worker", "--host", "0.0.0.0", "--insecure") as service:
        port = service.address.rpartition(":")[2]
        found, mapped = call_as([NOBODY], f"127.0.0.1:{port}", f"[::ffff:127.0.0.1]:{port}")
        assert outcome(found, "discover") == "OK"
        for one in (found, mapped):
            assert all(re.fullmatch(MAY_NOT, one[kind]) for kind in POOL)
        assert "whoever reaches the port may call (--insecure)" in service.log


@pytest.mark.parametrize("verb", ["serve", "workers"])
def test_neither_listens_to_the_network_without_a_word(verb: str) -> None:
    command = [sys.executable, "-m", "beam_ensembles.cli.main", verb, "--host=0.0.0.0", "--port=0"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
    assert done.returncode == 2
    assert done.stderr == (
        f"beam-ensembles {verb}: --host 0.0.0.0 is open to the network: add TLS (--tls-cert, --tls-key), "
        "or --insecure to let in everybody\n"
    )


class Call:
    """A call, as an interceptor's handler sees it."""

    def __init__(self, peer: str) -> None:
        self._peer = peer

    def peer(self) -> str:
        return self._peer

    def is_active(self) -> bool:
        return True

    def abort(self, code: grpc.StatusCode, text: str) -> None:
        raise PermissionError(code.name, text)


def check(peer: str, port: int, *, pool: bool = False) -> None:
    own = Callers(Access())
    own.listen_on(port)
    call: Any = Call(peer)
    try:
        (own._check_pool if pool else own._check)(call)
    except users._RefusedError as refused:
        raise PermissionError(str(refused)) from refused


@pytest.mark.parametrize(
    ("family", "host", "written"),
    [
        (socket.AF_INET, "127.0.0.1", "ipv4:127.0.0.1:{}"),
        (socket.AF_INET, "127.0.0.1", "ipv6:%5B::ffff:127.0.0.1%5D:{}"),
        (socket.AF_INET6, "::1", "ipv6:%5B::1%5D:{}"),
        (socket.AF_INET6, "::1", "ipv6:[::1]:{}"),
    ],
)
def test_a_caller_is_known_while_its_socket_is_open(family: int, host: str, written: str) -> None:
    with contextlib.ExitStack() as opened:
        try:
            listening = opened.enter_context(socket.create_server((host, 0), family=cast(Any, family)))
        except OSError:
            pytest.skip(f"this machine has no {host}")
        port = listening.getsockname()[1]
        caller = opened.enter_context(socket.create_connection((host, port)))
        accepted, _ = listening.accept()
        opened.enter_context(accepted)
        peer = written.format(caller.getsockname()[1])
        check(peer, port, pool=True)
        with pytest.raises(PermissionError, match="is unknown"):
            check(peer, port + 1 if port < 65_535 else 1)
        caller.close()  # the kernel lists what is left of it as root's
        with pytest.raises(PermissionError, match="is unknown"):
            check(peer, port)


@pytest.mark.parametrize(
    "peer", ["ipv4:10.1.2.3:5", "ipv6:[2001:db8::1]:5", "ipv4:12.7.0.0:127", "unix:/s", "", "x"]
)
def test_only_this_machine_reaches_a_pool(peer: str) -> None:
    with pytest.raises(PermissionError, match="the worker pool serves only runners on its own machine"):
        check(peer, 1, pool=True)


@pytest.mark.parametrize("peer", ["ipv4:10.1.2.3:5", "ipv6:[2001:db8::1]:5", "unix:/s", "", "x"])
def test_a_caller_that_no_socket_of_this_machine_belongs_to_is_refused(peer: str) -> None:
    with pytest.raises(PermissionError, match="is unknown"):
        check(peer, 1)


def test_each_socket_that_may_be_the_callers_must_be_an_allowed_users(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Two users can have one port, each connected to another address of this machine."""
    caller = endpoint_of("ipv4:127.0.0.1:5")
    assert caller is not None
    own = tcp_sockets.Socket(caller, caller, os.geteuid(), 1)
    other = tcp_sockets.Socket(caller, caller, NOBODY, 2)
    unknown = tcp_sockets.Socket(caller, caller, None, 3)
    for found, text in (([own, other], "may not call"), ([own, unknown], "is unknown")):
        monkeypatch.setattr(users, "client_sockets", lambda caller, port, found=found: found)
        with pytest.raises(PermissionError, match=text):
            check("ipv4:127.0.0.1:5", 7)
    assert client_sockets(caller, 7) == []


def test_a_stranger_cannot_fill_the_log(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    now = [100.0]
    monkeypatch.setattr(users.time, "monotonic", lambda: now[0])
    refusals = users._Refusals()
    for _ in range(1_000):
        refusals.log("ipv4:127.0.0.1:5", users._RefusedError(grpc.StatusCode.PERMISSION_DENIED, "no"))
    now[0] += 11
    refusals.log("ipv4:127.0.0.1:6", users._RefusedError(grpc.StatusCode.PERMISSION_DENIED, "no"))
    first, second = (record.getMessage() for record in caplog.records)
    assert first == "refused a caller at ipv4:127.0.0.1:5: no"
    assert second == (
        "refused a caller at ipv4:127.0.0.1:6: no (999 other calls were refused since the last such line)"
    )
