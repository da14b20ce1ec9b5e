"""How the command line and Python connect: TLS, tokens, and one sentence for everything that can be wrong."""

from __future__ import annotations

import dataclasses
import datetime
import os
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import grpc
import pytest
from apache_beam.portability.api import beam_expansion_api_pb2, beam_job_api_pb2, beam_job_api_pb2_grpc

from beam_ensembles import ExpansionService
from beam_ensembles.cli.main import main
from beam_ensembles.connections import ARGUMENTS, CannotConnect, Security
from beam_ensembles.connections.security import VARIABLES, is_loopback
from beam_ensembles.connections.server import Server
from beam_ensembles.transforms import expansion_service
from tests.support.authority import Authority, Pair
from tests.support.callers import assert_nobody_called
from tests.support.guarded_server import REACHED, guarded_server
from tests.support.patience import SECONDS

Read = pytest.CaptureFixture[str]
HEALTH = ("health", "--timeout", str(SECONDS))


@dataclasses.dataclass(frozen=True)
class Certificates:
    """What the tests have."""

    ours: Authority
    other: Authority
    good: Pair
    expired: Pair
    elsewhere: Pair
    client: Pair
    stranger: Pair


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    ours, other = (Authority(tmp_path_factory.mktemp("ca"), name) for name in ("ours", "other"))
    return Certificates(
        ours,
        other,
        ours.issue("good", ["127.0.0.1", "localhost"]),
        ours.issue("expired", ["127.0.0.1"], -datetime.timedelta(minutes=1)),
        ours.issue("elsewhere", ["models.example.com"]),
        ours.issue("client"),
        other.issue("stranger"),
    )


@pytest.fixture(autouse=True)
def no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in VARIABLES.values():
        monkeypatch.delenv(variable, raising=False)


@pytest.fixture
def token(tmp_path: Path) -> Path:
    path = tmp_path / "token"
    path.write_text("s3cret.t0ken==\n")
    return path


def _says(words: list[str], *flags: str, capsys: Read) -> None:
    """Assert that the verb fails soon, with one sentence that has these words."""
    start = time.monotonic()
    assert main([*HEALTH, *flags]) == 1
    said = capsys.readouterr().err
    assert time.monotonic() - start < SECONDS / 2
    assert said.startswith("beam-ensembles health: ")
    assert said.count("\n") == 1
    for word in words:
        assert word in said
    assert "SSL_ERROR" not in said
    assert "s3cret" not in said


CASES = {
    "plain client": ("good", None, [], ["requires TLS", "--tls-ca or BEAM_ENSEMBLES_TLS_CA"]),
    "plain client, mutual": ("good", "ours", [], ["requires TLS"]),
    "plain server": (None, None, ["--tls-ca", "ours"], ["does not use TLS", "without --tls-ca"]),
    "wrong CA": ("good", None, ["--tls-ca", "other"], ["is not signed by a CA in the file", "of --tls-ca"]),
    "machine's CA": ("good", None, ["--tls-ca", "system"], ["is not signed by a CA of this machine"]),
    "expired": ("expired", None, ["--tls-ca", "ours"], ["has expired"]),
    "other host": ("elsewhere", None, ["--tls-ca", "ours"], ["is not for the host '127.0.0.1'"]),
    "no client certificate": (
        *("good", "ours", ["--tls-ca", "ours"]),
        ["requires a client certificate", "--tls-cert or BEAM_ENSEMBLES_TLS_CERT", "--tls-key or"],
    ),
    "strange client certificate": (
        *("good", "ours", ["--tls-ca", "ours", "--tls-cert", "stranger", "--tls-key", "stranger"]),
        ["refuses the client certificate", "--tls-cert", "--tls-client-ca"],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_why_tls_fails(case: str, known: Certificates, capsys: Read) -> None:
    server, client_ca, flags, words = CASES[case]
    own = None if server is None else getattr(known, server)
    ca = None if client_ca is None else getattr(known, client_ca).file
    with guarded_server(own, ca) as address:
        _says([*words, address], address, *_paths(flags, known), capsys=capsys)


def _paths(flags: list[str], known: Certificates) -> Iterator[str]:
    for flag, name in zip(flags[::2], flags[1::2], strict=True):
        found = getattr(known, name, name)
        if isinstance(found, Pair):
            found = found.key if flag == "--tls-key" else found.cert
        yield from (flag, str(found.file if isinstance(found, Authority) else found))


def test_tls_and_mutual_tls(known: Certificates, capsys: Read) -> None:
    ca, cert, key = (str(path) for path in (known.ours.file, *known.client))
    with guarded_server(known.good) as address:
        assert main([*HEALTH, address, "--tls-ca", ca]) == 0
    with guarded_server(known.good, known.ours.file) as address:
        assert main([*HEALTH, address, "--tls-ca", ca, "--tls-cert", cert, "--tls-key", key]) == 0
    assert capsys.readouterr().out.endswith(f"{address} SERVING\n")


def test_a_certificate_that_signed_itself_is_its_own_ca(tmp_path: Path) -> None:
    from tests.support.certificates import make_certificate

    key, cert = make_certificate(tmp_path, "localhost")
    with guarded_server(Pair(cert, key)) as address:
        port = address.rpartition(":")[2]
        assert main([*HEALTH, f"localhost:{port}", "--tls-ca", str(cert)]) == 0


@pytest.mark.parametrize(
    ("flag", "content", "words"),
    [
        ("--tls-ca", None, ["No such file or directory"]),
        ("--tls-ca", "no PEM", ["holds no certificate", "-----BEGIN CERTIFICATE-----"]),
        (
            "--tls-ca",
            "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
            ["malformed certificate"],
        ),
        ("--tls-ca", "-----BEGIN CERTIFICATE-----\nAAAA\n", ["malformed certificate"]),
        ("--tls-cert", None, ["No such file or directory"]),
        ("--tls-cert", "no PEM", ["holds no certificate"]),
        ("--tls-key", None, ["No such file or directory"]),
        ("--tls-key", "no PEM", ["holds no private key"]),
        ("--tls-key", "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAA\n", ["is encrypted", "openssl pkey"]),
        ("--token-file", None, ["No such file or directory"]),
        ("--token-file", "\n", ["is empty"]),
        ("--token-file", "one\ntwo\n", ["holds no token", "one line"]),
        ("--token-file", "caf\u00e9", ["holds no token"]),
    ],
)
def test_which_file_is_wrong(
    flag: str, content: str | None, words: list[str], known: Certificates, tmp_path: Path, capsys: Read
) -> None:
    wrong = tmp_path / "wrong"
    if content is not None:
        wrong.write_text(content)
    files = {"--tls-ca": known.ours.file, "--tls-cert": known.client.cert, "--tls-key": known.client.key}
    given = [word for pair in ({**files, flag: wrong}).items() for word in map(str, pair)]
    with guarded_server(known.good) as address:
        _says([f"the file '{wrong}' of {flag}", *words], address, *given, capsys=capsys)


def test_a_key_of_another_certificate(known: Certificates, capsys: Read) -> None:
    with guarded_server(known.good) as address:
        flags = ["--tls-cert", str(known.client.cert), "--tls-key", str(known.good.key)]
        _says(["does not belong to the certificate", str(known.client.cert)], address, *flags, capsys=capsys)
        _says(["needs its private key"], address, *flags[:2], capsys=capsys)
        _says(["needs its private key"], address, *flags[2:], capsys=capsys)


def test_a_file_that_may_not_be_read(known: Certificates, tmp_path: Path, capsys: Read) -> None:
    with guarded_server(known.good) as address:
        _says(["Is a directory", "--tls-ca"], address, "--tls-ca", str(tmp_path), capsys=capsys)


def test_a_token_never_leaves_the_machine_without_tls(token: Path, capsys: Read) -> None:
    for address in ("192.0.2.1:8097", "localhost.example.com:8097", "[2001:db8::1]:8097", "0.0.0.0:1"):
        _says([f"is not sent to {address} without TLS"], address, "--token-file", str(token), capsys=capsys)


def test_loopback_addresses() -> None:
    loopback = [
        "localhost:1",
        "LocalHost:1",
        "127.0.0.1:1",
        "127.9.9.9:1",
        "[::1]:1",
        "[::ffff:127.0.0.1]:1",
        "unix:/tmp/x",
    ]
    hosts = (
        "0.0.0.0",
        "[::]",
        "10.0.0.1",
        "127.0.0.1.example.com",
        "localhost.",
        "dns:///localhost",
        "127.1",
    )
    elsewhere = [*(f"{host}:1" for host in hosts), ":1", "localhost", "localhost:1@x"]
    assert all(map(is_loopback, loopback))
    assert not any(map(is_loopback, elsewhere))


def test_tokens(known: Certificates, token: Path, tmp_path: Path) -> None:
    wrong = tmp_path / "wrong"
    wrong.write_text("other")
    ca = known.ours.file
    for own, tls in ((None, {}), (known.good, {"tls_ca": ca})):
        with guarded_server(own, token="s3cret.t0ken==") as address:
            with ExpansionService(address, **tls, token_file=token) as stub:
                assert stub.Expand(beam_expansion_api_pb2.ExpansionRequest()).error == REACHED
                wrong_now = token.read_text()
                token.write_text("changed")
                with pytest.raises(
                    CannotConnect, match=r"refuses the token in the file '.*' of token_file; use"
                ):
                    stub.Expand(beam_expansion_api_pb2.ExpansionRequest())
                token.write_text(wrong_now)
            with ExpansionService(address, **tls) as stub:
                how = "requires a token; name the file that holds it with token_file or BEAM_ENSEMBLES_TOKEN_FILE"
                with pytest.raises(CannotConnect, match=how):
                    stub.Expand(beam_expansion_api_pb2.ExpansionRequest())


def test_an_answer_has_a_largest_size(monkeypatch: pytest.MonkeyPatch) -> None:
    limits = dict(expansion_service._LIMITS)
    assert limits["grpc.max_receive_message_length"] == 64 << 20
    limits["grpc.max_receive_message_length"] = len(REACHED)
    monkeypatch.setattr(expansion_service, "_LIMITS", list(limits.items()))
    with (
        guarded_server(None) as address,
        ExpansionService(address) as stub,
        pytest.raises(CannotConnect, match="RESOURCE_EXHAUSTED"),
    ):
        stub.Expand(beam_expansion_api_pb2.ExpansionRequest())


def test_artifacts_come_over_the_same_connection(known: Certificates, token: Path, tmp_path: Path) -> None:
    from apache_beam.portability.api import beam_runner_api_pb2
    from apache_beam.runners.portability.artifact_service import resolve_artifacts

    with guarded_server(known.good, token="s3cret.t0ken==") as address:
        service = ExpansionService(address, tls_ca=known.ours.file, token_file=token)
        with service as stub:
            wanted = beam_runner_api_pb2.ArtifactInformation(type_urn="beam:artifact:type:file:v1")
            (found,) = resolve_artifacts([wanted], stub.artifact_service(), str(tmp_path))
    path = beam_runner_api_pb2.ArtifactFilePayload.FromString(found.type_payload).path
    assert Path(path).read_text() == REACHED


def test_python_is_told_at_once(known: Certificates) -> None:
    with guarded_server(known.good) as address:
        with pytest.raises(CannotConnect, match=r"requires TLS; .* with tls_ca or BEAM_ENSEMBLES_TLS_CA"):
            ExpansionService(address)
        with pytest.raises(CannotConnect, match="is not signed by a CA in the file"):
            ExpansionService(address, tls_ca=known.other.file)
    with pytest.raises(CannotConnect, match=f"the service at {address} does not answer: UNAVAILABLE: "):
        ExpansionService(address)


def test_the_environment_says_what_nobody_else_does(
    known: Certificates, token: Path, monkeypatch: pytest.MonkeyPatch, capsys: Read
) -> None:
    files = dict(zip(VARIABLES, (known.ours.file, *known.client, token), strict=True))
    for name, path in files.items():
        monkeypatch.setenv(VARIABLES[name], str(path))
    with guarded_server(known.good, known.ours.file, token="s3cret.t0ken==") as address:
        assert main([*HEALTH, address]) == 0
        assert main(["metrics", "--job-endpoint", address]) == 0
        assert capsys.readouterr().out == f"{address} SERVING\nno jobs\n"
        _says(["requires a client certificate"], address, "--tls-cert", "", "--tls-key", "", capsys=capsys)
        monkeypatch.setenv("BEAM_ENSEMBLES_TLS_CA", str(known.other.file))
        _says(["is not signed", "of BEAM_ENSEMBLES_TLS_CA"], address, capsys=capsys)
    with guarded_server(token="s3cret.t0ken==") as address:
        off = [word for flag in ("--tls-ca", "--tls-cert", "--tls-key") for word in (flag, "")]
        assert main([*HEALTH, address, *off]) == 0


def test_metrics_of_a_job_server(known: Certificates, token: Path, capsys: Read) -> None:
    ca = ["--tls-ca", str(known.ours.file)]
    with guarded_server(known.good, token="s3cret.t0ken==") as address:
        asked = ["metrics", "--job-endpoint", address]
        for flags, words in (
            (
                [],
                "requires TLS; name the CA that signed its certificate with --tls-ca or BEAM_ENSEMBLES_TLS_CA",
            ),
            (
                ca,
                "requires a token; name the file that holds it with --token-file or BEAM_ENSEMBLES_TOKEN_FILE",
            ),
            (["--tls-ca", str(known.other.file)], "is not signed by"),
        ):
            assert main([*asked, *flags]) == 1
            said = capsys.readouterr().err
            assert said.startswith("beam-ensembles metrics: ")
            assert f"the job server at {address}" in said
            assert words in said
            assert said.count("\n") == 1
        assert main([*asked, *ca, "--token-file", str(token)]) == 0


def test_metrics_of_a_flink_cluster(known: Certificates, token: Path, capsys: Read) -> None:
    assert main(["metrics", "--flink", "http://192.0.2.1:8081", "--token-file", str(token)]) == 1
    assert "is not sent to 192.0.2.1:8081 without TLS" in capsys.readouterr().err
    assert main(["metrics", "--flink", "http://localhost:8081", "--tls-ca", str(token)]) == 1
    assert "--tls-ca needs a URL that begins with https://" in capsys.readouterr().err
    with guarded_server(known.good) as address:
        assert main(["metrics", "--flink", f"https://{address}", "--tls-ca", str(known.other.file)]) == 1
    said = capsys.readouterr().err
    assert f"the certificate of the Flink cluster at https://{address} is not signed by" in said
    assert said.count("\n") == 1


class _Flink(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        is_known = self.headers.get("Authorization") == "Bearer s3cret.t0ken=="
        body = b'{"jobs": []}'
        self.send_response(200 if is_known else 401)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


def test_metrics_of_a_flink_cluster_with_tls_and_a_token(
    known: Certificates, token: Path, capsys: Read
) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*known.good)
    context.load_verify_locations(known.ours.file)
    context.verify_mode = ssl.CERT_REQUIRED
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Flink)
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    asked = [
        "metrics",
        "--flink",
        f"https://127.0.0.1:{server.server_port}",
        "--tls-ca",
        str(known.ours.file),
    ]
    own = ["--tls-cert", str(known.client.cert), "--tls-key", str(known.client.key)]
    try:
        assert main([*asked, *own, "--token-file", str(token)]) == 0
        assert capsys.readouterr().out == "no jobs\n"
        for flags, words in ((own, "requires a token; "), ([], "requires a client certificate; ")):
            assert main([*asked, *flags]) == 1
            assert words in capsys.readouterr().err
    finally:
        server.shutdown()
        server.server_close()


def test_a_token_is_not_sent_through_a_proxy(token: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as proxy:
        for name in ("http_proxy", "https_proxy", "grpc_proxy"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.getsockname()[1]}")
        monkeypatch.delenv("no_proxy", raising=False)
        monkeypatch.delenv("NO_PROXY", raising=False)
        with guarded_server(token="s3cret.t0ken==") as address:
            security = Security.of({"token_file": str(token)}, ARGUMENTS)
            with Server(address, security).open() as channel:
                jobs = beam_job_api_pb2_grpc.JobServiceStub(channel)
                jobs.GetJobs(beam_job_api_pb2.GetJobsRequest(), timeout=SECONDS)
        assert_nobody_called(proxy)


def test_it_waits_for_a_service_that_is_not_there_yet(known: Certificates) -> None:
    ca = str(known.ours.file)
    with guarded_server(known.good) as address:
        pass
    codes: list[int] = []
    asking = threading.Thread(target=lambda: codes.append(main([*HEALTH, address, "--tls-ca", ca])))
    asking.start()
    time.sleep(0.5)
    credentials = grpc.ssl_server_credentials([(known.good.key.read_bytes(), known.good.cert.read_bytes())])
    from concurrent import futures

    from grpc_health.v1 import health, health_pb2, health_pb2_grpc

    server = grpc.server(futures.ThreadPoolExecutor(2))
    servicer = health.HealthServicer()
    servicer.set("", health_pb2.HealthCheckResponse.SERVING)
    health_pb2_grpc.add_HealthServicer_to_server(servicer, server)
    server.add_secure_port(address, credentials)
    server.start()
    asking.join()
    server.stop(None).wait()
    assert codes == [0]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every file")
def test_an_unreadable_file(known: Certificates, tmp_path: Path, capsys: Read) -> None:
    secret = tmp_path / "secret"
    secret.touch(0o000)
    _says(["Permission denied"], "localhost:1", "--token-file", str(secret), capsys=capsys)
