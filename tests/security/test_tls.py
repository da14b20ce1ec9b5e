"""Certificates and tokens: callers without them get no answer, and Beam's runners reach the pool."""

from __future__ import annotations

import argparse
import os
import shutil
import socket
from pathlib import Path
from typing import Any

import grpc
import pytest
from apache_beam.portability.api import (
    beam_expansion_api_pb2_grpc,
    beam_fn_api_pb2,
    beam_fn_api_pb2_grpc,
    beam_runner_api_pb2,
)

from beam_ensembles.connections import FLAGS, CannotConnect, Security
from beam_ensembles.connections.security import Setting
from beam_ensembles.metrics.flink import FlinkCluster
from beam_ensembles.metrics.job_server import NoMetrics
from beam_ensembles_service.callers.flags import access_of, add_access_arguments, check_host
from beam_ensembles_service.callers.token_file import TokenFile
from beam_ensembles_service.usage import UsageError
from tests.support.callers import assert_nobody_called, calls
from tests.support.certificates import make_certificate
from tests.support.expansion_requests import MEAN_OF_TWO, like_go, schema
from tests.support.patience import wait_until
from tests.support.service import RunningService, running_service

TOKEN, NEXT = "a-token-of-this-test-1", "a-token-of-this-test-2"
PROTECTED = ("expand", "discover", "resolve", "get", "reflect")


def tls(service: RunningService, root: Path, *own: Path) -> grpc.Channel:
    """Connects with a root certificate, and with a client's own key and certificate."""
    pair = [file.read_bytes() for file in own] or [None, None]
    credentials = grpc.ssl_channel_credentials(root.read_bytes(), *pair)
    return grpc.secure_channel(f"localhost:{service.address.rpartition(':')[2]}", credentials)


def bearer(token: str) -> tuple[tuple[str, str], ...]:
    return (("authorization", f"Bearer {token}"),)


def codes(channel: grpc.Channel, *metadata: tuple[str, str]) -> dict[str, str]:
    with channel:
        return {kind: said.partition(":")[0] for kind, said in calls(channel, metadata).items()}


def test_a_service_with_certificate_and_token(tmp_path: Path) -> None:
    key, certificate = make_certificate(tmp_path, "localhost")
    (tmp_path / "other").mkdir()
    other_key, other = make_certificate(tmp_path / "other", "localhost")
    token = tmp_path / "token"
    token.write_text(f"{TOKEN}\n")
    token.chmod(0o600)
    flags = ("--tls-cert", str(certificate), "--tls-key", str(key), "--token-file", str(token))
    with running_service("--serve-loopback-worker", *flags) as service:
        port = service.address.rpartition(":")[2]
        for stranger in (grpc.insecure_channel(f"localhost:{port}"), tls(service, other)):
            assert set(codes(stranger, *bearer(TOKEN)).values()) == {"UNAVAILABLE"}
        for wrong in ((), bearer(NEXT), bearer(TOKEN[:-1]), bearer(""), (("authorization", TOKEN),)):
            found = codes(tls(service, certificate), *wrong)
            assert {found[kind] for kind in PROTECTED} == {"UNAUTHENTICATED"}
            assert found["health"] == "OK"
        found = codes(tls(service, certificate), *bearer(TOKEN))
        assert (found["expand"], found["discover"], found["reflect"]) == ("OK", "OK", "OK")
        assert (found["start"], found["stop"]) == ("UNIMPLEMENTED", "UNIMPLEMENTED")
        with tls(service, certificate) as channel:
            assert_the_pool_is_plain_and_on_loopback(channel)
        assert_files_are_read_again(service, token, (key, certificate), (other_key, other))
        assert TOKEN not in service.log
        assert NEXT not in service.log


def assert_the_pool_is_plain_and_on_loopback(channel: grpc.Channel) -> None:
    request = like_go({"spec": MEAN_OF_TWO}, schema("rows", a="double", b="double"))
    answer = beam_expansion_api_pb2_grpc.ExpansionServiceStub(channel).Expand(request, metadata=bearer(TOKEN))
    assert not answer.error
    payloads = [one.payload for one in answer.components.environments.values() if "external" in one.urn]
    (url,) = {beam_runner_api_pb2.ExternalPayload.FromString(one).endpoint.url for one in payloads}
    assert url.startswith("127.0.0.1:")
    with grpc.insecure_channel(url) as plain:
        pool = beam_fn_api_pb2_grpc.BeamFnExternalWorkerPoolStub(plain)
        said = pool.StartWorker(beam_fn_api_pb2.StartWorkerRequest(worker_id="w")).error
        assert said == "the request names no control endpoint"
        discover = beam_expansion_api_pb2_grpc.ExpansionServiceStub(plain).DiscoverSchemaTransform
        with pytest.raises(grpc.RpcError, match="UNIMPLEMENTED"):
            discover(beam_fn_api_pb2.StartWorkerRequest())


def assert_files_are_read_again(
    service: RunningService, token: Path, own: tuple[Path, Path], other: tuple[Path, Path]
) -> None:
    root = own[1].with_name("root.pem")
    shutil.copy(own[1], root)
    token.write_text(NEXT)
    assert codes(tls(service, root), *bearer(TOKEN))["discover"] == "UNAUTHENTICATED"
    assert codes(tls(service, root), *bearer(NEXT))["discover"] == "OK"
    token.write_text("")
    for given in ("", NEXT):
        assert codes(tls(service, root), *bearer(given))["discover"] == "UNAUTHENTICATED"
    token.write_text(NEXT)
    shutil.copy(other[1], own[1])  # its key is still that of the former
    assert codes(tls(service, root), *bearer(NEXT))["discover"] == "OK"
    wait_until(lambda: "the certificate that was read before stays in use" in service.log)
    shutil.copy(other[0], own[0])
    assert codes(tls(service, other[1]), *bearer(NEXT))["discover"] == "OK"
    assert codes(tls(service, root), *bearer(NEXT))["discover"] == "UNAVAILABLE"


def test_a_service_that_asks_for_certificates_of_clients(tmp_path: Path) -> None:
    key, certificate = make_certificate(tmp_path, "localhost")
    client = make_certificate(tmp_path, "client")
    (tmp_path / "other").mkdir()
    stranger = make_certificate(tmp_path / "other", "client")
    flags = ("--tls-cert", certificate, "--tls-key", key, "--tls-client-ca", client[1], "--host", "0.0.0.0")
    with running_service(*map(str, flags)) as service:
        for own in ((), stranger):
            assert set(codes(tls(service, certificate, *own)).values()) == {"UNAVAILABLE"}
        found = codes(tls(service, certificate, *client))
        assert (found["discover"], found["health"]) == ("OK", "OK")
        assert "WARNING" not in service.log


def access(*flags: object) -> Any:
    parser = argparse.ArgumentParser()
    add_access_arguments(parser, token=True)
    return access_of(parser.parse_args(list(map(str, flags))))


def test_files_that_do_not_fit_are_one_sentence(tmp_path: Path) -> None:
    key, certificate = make_certificate(tmp_path, "localhost")
    other_key, _ = make_certificate(tmp_path, "other")
    cert = ("--tls-cert", certificate)
    pair = "must be PEM files of a certificate and its own unencrypted key"
    for flags, said in (
        (cert, "--tls-cert and --tls-key must be given together"),
        (("--tls-key", key), "--tls-cert and --tls-key must be given together"),
        (("--tls-client-ca", certificate), "--tls-client-ca needs --tls-cert and --tls-key"),
        (
            (*cert, "--tls-key", tmp_path / "none"),
            f"--tls-key: '{tmp_path / 'none'}' is missing or cannot be read",
        ),
        ((*cert, "--tls-key", other_key), f"--tls-cert '{certificate}' and --tls-key '{other_key}' {pair}"),
        (
            (*cert, "--tls-key", certificate),
            f"--tls-cert '{certificate}' and --tls-key '{certificate}' {pair}",
        ),
        (
            (*cert, "--tls-key", key, "--tls-client-ca", key),
            f"--tls-client-ca '{key}' must be a PEM file of certificates",
        ),
        (
            ("--allow-user", "no-such-user"),
            "--allow-user: this machine has no user 'no-such-user'; a number is also accepted",
        ),
        (("--keepalive-seconds", "nan"), "--keepalive-seconds must be from 0 to 10000000, not nan"),
    ):
        with pytest.raises(UsageError) as raised:
            access(*flags)
        assert str(raised.value) == said


def test_certificate_alone_does_not_open_a_service_to_the_network(tmp_path: Path) -> None:
    key, certificate = make_certificate(tmp_path, "localhost")
    flags = ("--tls-cert", certificate, "--tls-key", key)
    check_host("127.0.0.1", access(), has_pool=False)
    check_host("0.0.0.0", access(*flags, "--tls-client-ca", certificate), has_pool=True)
    check_host("0.0.0.0", access("--insecure"), has_pool=True)
    with pytest.raises(UsageError, match="add a proof of who calls"):
        check_host("0.0.0.0", access(*flags), has_pool=False)
    with pytest.raises(UsageError, match="add TLS"):
        check_host("0.0.0.0", access("--token-file", "t"), has_pool=False)


@pytest.mark.parametrize(
    "text", ["", "\n", "short", "x" * 15, "with blanks in it, so two", "no-ascii-éèàüöäß", "x" * 5_000]
)
def test_a_file_without_a_token_is_refused(text: str, tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_text(text)
    with pytest.raises(UsageError, match="must hold one token of 16 to 4,096 printable ASCII characters"):
        TokenFile(str(path))
    with pytest.raises(UsageError, match="cannot be read"):
        TokenFile(str(tmp_path))


def test_no_flag_waits_for_a_pipe(tmp_path: Path) -> None:
    key, certificate = make_certificate(tmp_path, "localhost")
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(UsageError, match="cannot be read: it is not a regular file"):
        TokenFile(str(pipe))
    pair = ("--tls-cert", certificate, "--tls-key", key)
    for flags in (("--tls-cert", pipe, "--tls-key", key), (*pair, "--tls-client-ca", pipe)):
        with pytest.raises(UsageError, match="is not a regular file"):
            access(*flags)
    with pytest.raises(CannotConnect, match="cannot be read: it is not a regular file"):
        Setting(str(pipe), "--tls-ca").read()


def test_a_token_that_every_user_can_read_is_told_of(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "token"
    path.write_text(TOKEN)
    for mode, told in ((0o600, False), (0o644, True)):
        os.chmod(path, mode)
        assert TokenFile(str(path)).accepts(f"bearer {TOKEN}")
        assert ("can be read by every user" in caplog.text) == told


def test_a_token_for_flink_is_not_sent_through_a_proxy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as proxy:
        for name in ("http_proxy", "HTTP_PROXY", "all_proxy"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.getsockname()[1]}")
        for name in ("no_proxy", "NO_PROXY"):
            monkeypatch.delenv(name, raising=False)
        token = tmp_path / "token"
        token.write_text("a-token-of-16-or-more\n")
        token.chmod(0o600)
        security = Security.of({"token_file": str(token)}, FLAGS)
        with pytest.raises(NoMetrics, match="no Flink cluster answers"):
            FlinkCluster("http://127.0.0.1:9", security).jobs()
        assert_nobody_called(proxy)
