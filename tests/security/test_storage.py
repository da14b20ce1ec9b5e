"""Storage is read with the service's credentials: only where somebody allowed it, and never for long."""

from __future__ import annotations

import bz2
import contextlib
import gzip
import json
import socket
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import grpc
import pytest
from apache_beam.io.filesystems import FileSystems
from apache_beam.portability.api import beam_expansion_api_pb2_grpc
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from beam_ensembles.errors import EnsembleError, InvalidEnsemble
from beam_ensembles.files import deadlines
from beam_ensembles.files.deadlines import TookTooLong, call_within
from beam_ensembles.files.ensemble_files import FileProblem, Files
from beam_ensembles.files.fetched_files import Patience, fetched
from beam_ensembles.files.file_changes import state_of
from beam_ensembles.files.storage import file_systems
from beam_ensembles.graph import check_text
from beam_ensembles.registry import KINDS
from beam_ensembles.runtime import ensemble_text
from beam_ensembles.runtime.ensemble_text import read_uri
from tests.support.expansion_requests import like_go, schema
from tests.support.patience import SECONDS, wait_until
from tests.support.service import running_service

PLACES = (
    "gs://bucket/models/m.onnx", "s3://bucket/m.onnx", "hdfs://10.0.0.1:8020/m.onnx", "azfs://account/box/m.onnx",
    "GS://bucket/m.onnx", "abfs://box/m.onnx", "nowhere://x/m.onnx", "gs://*/m.onnx", "gs:///m.onnx",
)  # fmt: skip


def node(uri: str) -> dict[str, Any]:
    return {"model": "onnx", "uri": uri, "inputs": ["x"], "outputs": {"y": "float"}}


def ensemble(**nodes: Any) -> str:
    return json.dumps(
        {"ensemble": "e", "inputs": {"x": "double", "place": "string", "n": "int64"}, "nodes": nodes}
    )


def problems(text: str, files: Files) -> list[tuple[str, str]]:
    with pytest.raises(InvalidEnsemble) as caught:
        check_text(text, KINDS, files)
    return [(problem.code, problem.path) for problem in caught.value.problems]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What Beam's file systems were asked for."""
    found: list[str] = []
    for name in ("open", "match", "exists"):
        monkeypatch.setattr(FileSystems, name, lambda what, *_, **__: found.append(str(what)))
    return found


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("hosts", [(), ("*",), ("bucket",), ("gs://bucket2", "s3://bucke", "https://bucket")])
def test_storage_that_nobody_allowed_is_not_read(
    place: str, hosts: tuple[str, ...], asked: list[str]
) -> None:
    files = Files("/", hosts=hosts)
    uris = {
        "a": node(place),
        "b": {"apply": "labels", "file": place, "inputs": ["n"], "outputs": {"z": "string"}},
        "c": {"apply": "read", "under": [place], "inputs": ["place"], "outputs": {"data": "bytes"}},
    }
    where = [("untrusted_host", f"nodes.{path}") for path in ("a.uri", "b.file", "c.under[0]")]
    found = problems(ensemble(**uris), files)
    assert [one for one in found if one[0] != "untrusted_file"] == where
    for uri in (place.replace("m.onnx", "e.yaml"), place.replace("m.onnx", "e.ensemble.zip")):
        with pytest.raises(InvalidEnsemble) as caught:
            read_uri(uri, files)
        assert caught.value.problems[0].code == "untrusted_host"
    assert asked == []


def test_a_base_uri_in_storage_vouches_for_nothing(asked: list[str]) -> None:
    assert problems(ensemble(a=node("m.onnx")), Files("gs://bucket/models")) == [
        ("untrusted_host", "nodes.a.uri")
    ]
    assert asked == []


@pytest.mark.parametrize(
    ("files", "uri", "allowed"),
    [
        (Files(hosts=("gs://bucket",)), "gs://bucket/m", True),
        (Files(hosts=("gs://bucket/",)), "gs://bucket/m", True),
        (Files(hosts=("gs://team-*",)), "gs://team-a/m", True),
        (Files(hosts=("gs://*",)), "gs://any/m", True),
        (Files(hosts=("gs://team-*",)), "s3://team-a/m", False),
        (Files(hosts=("gs://team-*",)), "gs://other/team-a/m", False),
        (Files(hosts=("hdfs://name:8020",)), "hdfs://name:8020/m", True),
        (Files(hosts=("hdfs://name:8020",)), "hdfs://name:8021/m", False),
        (Files(trusted=("gs://bucket/models",)), "gs://bucket/models/m", True),
        (Files(trusted=("gs://bucket/models",)), "gs://bucket/m", False),
        (Files(hosts=("*",), is_own=True), "gs://bucket/m", True),
    ],
)
def test_who_allows_storage(files: Files, uri: str, allowed: bool) -> None:
    if allowed:
        assert files.check(uri) == uri
        return
    with pytest.raises(FileProblem, match="--allow-host") as caught:
        files.check(uri)
    assert caught.value.code == "untrusted_host"


def test_a_service_refuses_at_once_what_it_would_read_with_its_own_credentials() -> None:
    with (
        running_service("--serve-loopback-worker", "--allow-host", "*") as service,
        grpc.insecure_channel(service.address) as channel,
    ):
        stub = beam_expansion_api_pb2_grpc.ExpansionServiceStub(channel)
        rows = schema("rows", x="double")
        stub.Expand(like_go({"spec": "ensemble: e"}, rows), timeout=SECONDS)  # the first call takes longest
        for place in (
            "hdfs://10.0.0.1:8020/e.yaml",
            "gs://bucket/e.yaml",
            "s3://b/e.ensemble.zip",
            "azfs://a/b/e.yaml",
        ):
            start = time.monotonic()
            answer = stub.Expand(like_go({"spec_uri": place}, rows), timeout=SECONDS)
            assert "[untrusted_host] spec_uri: " in answer.error
            assert "--allow-host" in answer.error
            assert time.monotonic() - start < SECONDS / 10  # asking that storage takes longer


@pytest.fixture
def silent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[socket.socket]]:
    """Storage that takes connections and never answers: the endpoints of Google's and Amazon's libraries."""
    connections: list[socket.socket] = []
    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"http://127.0.0.1:{server.getsockname()[1]}"
        key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
        account = {"type": "service_account", "client_email": "a@example.com", "private_key": pem}
        (tmp_path / "account.json").write_text(json.dumps({**account, "token_uri": url}))
        storage_variables(monkeypatch, url)
        monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(tmp_path / "account.json"))
        monkeypatch.setattr(FileSystems, "_pipeline_options", None)

        def accept() -> None:
            with contextlib.suppress(OSError):
                while True:
                    connections.append(server.accept()[0])

        threading.Thread(target=accept, daemon=True).start()
        yield connections
    for connection in connections:
        connection.close()


def storage_variables(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    """Sends what asks for storage to another address."""
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", url)
    monkeypatch.setenv("AWS_ENDPOINT_URL", url)
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "a")


@pytest.mark.parametrize(
    ("scheme", "library"), [("gs", "google.cloud.storage"), ("s3", "boto3")], ids=["gs", "s3"]
)
def test_storage_that_does_not_answer_is_one_error_within_seconds(
    scheme: str, library: str, silent: list[socket.socket], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip(library)
    place = f"{scheme}://bucket"
    assert ensemble_text._SECONDS <= 20
    assert Patience().silence <= 20
    monkeypatch.setattr(ensemble_text, "_SECONDS", 1.0)
    start = time.monotonic()
    with pytest.raises(InvalidEnsemble) as caught:
        read_uri(f"{place}/e.yaml", Files(hosts=(place,)))
    (problem,) = caught.value.problems
    assert (problem.code, problem.path) == ("unreadable_file", "spec_uri")
    assert problem.message == (
        f"reading '{place}/e.yaml' takes longer than 1 seconds; check that this machine reaches that storage and has "
        "credentials for it"
    )
    assert time.monotonic() - start < SECONDS / 2
    wait_until(lambda: bool(silent))  # else the library has not asked


def test_a_service_asks_amazons_storage_and_logs_no_traceback(
    http_server: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("boto3")
    storage_variables(monkeypatch, http_server)
    with (
        running_service("--serve-loopback-worker", "--allow-host", "s3://bucket") as service,
        grpc.insecure_channel(service.address) as channel,
    ):
        stub = beam_expansion_api_pb2_grpc.ExpansionServiceStub(channel)
        rows = schema("rows", x="double")
        answer = stub.Expand(like_go({"spec_uri": "s3://bucket/e.yaml"}, rows), timeout=SECONDS)
    assert "[unreadable_file] spec_uri: 's3://bucket/e.yaml' cannot be read: " in answer.error
    assert "Must provide" not in answer.error
    assert "Traceback" not in service.log


@pytest.fixture
def http_server() -> Iterator[str]:
    """The URL of a server that forbids everything."""

    class Forbids(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(403)
            self.send_header("Content-Length", "0")
            self.end_headers()

        do_HEAD = do_GET

        def log_message(self, format: str, *args: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Forbids) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture
def blocked(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Storage that does not answer before the test ends: who has no deadline of its own never goes on."""
    ends = threading.Event()
    for name in ("open", "match"):
        monkeypatch.setattr(FileSystems, name, lambda *_, **__: ends.wait())
    yield
    ends.set()


def test_no_read_of_storage_outlasts_its_deadline(blocked: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ensemble_text, "_SECONDS", 0.3)
    with pytest.raises(InvalidEnsemble, match="takes longer than") as caught:
        read_uri("gs://bucket/e.yaml", Files(hosts=("gs://bucket",)))
    assert caught.value.problems[0].code == "unreadable_file"
    for place in ("gs://bucket/m.onnx", "gs://bucket/m*.onnx"):
        with (
            pytest.raises(EnsembleError, match="takes longer than"),
            fetched(place, patience=Patience(silence=0.3)),
        ):
            pass
    with (
        pytest.raises(EnsembleError, match="listing"),
        fetched("gs://bucket/m", folders=True, patience=Patience(silence=0.3)),
    ):
        pass
    monkeypatch.setattr("beam_ensembles.files.file_changes._ASK_SECONDS", 0.3)
    assert state_of("gs://bucket/m.onnx") is None


def test_rows_wait_no_longer_for_storage_than_their_node_says(blocked: None) -> None:
    under = {"apply": "read", "under": ["gs://bucket"], "inputs": ["place"], "outputs": {"data": "bytes"}}
    text = ensemble(a={**under, "timeout": 0.3, "retries": 0})
    (checked,) = check_text(text, KINDS, Files("/", hosts=("gs://bucket",))).nodes
    reader = KINDS["apply", "read"].load(checked).reader  # type: ignore[attr-defined]
    found = reader.read_all(["gs://bucket/a", "gs://bucket/b"])
    assert [one.code for one in found.values()] == ["server_unreachable"] * 2


def test_whether_a_file_is_there_is_asked_no_longer_than_the_node_says(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ends = threading.Event()

    def fail(*_: Any, **__: Any) -> None:
        raise OSError("the storage is gone")

    monkeypatch.setattr(FileSystems, "open", fail)
    monkeypatch.setattr(FileSystems, "exists", lambda *_: ends.wait())
    under = {"apply": "read", "under": ["gs://bucket"], "inputs": ["place"], "outputs": {"data": "bytes"}}
    text = ensemble(a={**under, "timeout": 0.3, "retries": 0})
    (checked,) = check_text(text, KINDS, Files("/", hosts=("gs://bucket",))).nodes
    reader = KINDS["apply", "read"].load(checked).reader  # type: ignore[attr-defined]
    start = time.monotonic()
    (found,) = reader.read_all(["gs://bucket/a"]).values()
    assert found.code == "server_unreachable"
    assert time.monotonic() - start < SECONDS / 2
    ends.set()


def test_beams_file_system_of_amazon_can_be_made(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("boto3")
    monkeypatch.setattr(FileSystems, "_pipeline_options", None)
    storage_variables(monkeypatch, "http://127.0.0.1:9")
    made = file_systems().get_filesystem("s3://bucket/a")
    assert made.scheme() == "s3"
    assert FileSystems._pipeline_options is not None


def test_calls_that_hang_are_no_more_than_so_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deadlines, "_FREE", threading.BoundedSemaphore(2))
    ends, begun = threading.Event(), list[int]()

    def hang() -> None:
        begun.append(threading.get_ident())
        ends.wait()

    for _ in range(2):
        with pytest.raises(TookTooLong, match="takes longer"):
            call_within(0.05, hang, "reading")
    wait_until(lambda: len(begun) == 2)
    with pytest.raises(TookTooLong, match="was not tried"):
        call_within(0.05, hang, "reading")
    assert len(begun) == 2
    ends.set()
    assert call_within(SECONDS, lambda: 7, "reading") == 7
    with pytest.raises(KeyError):
        call_within(SECONDS, lambda: {}[0], "reading")


def test_what_storage_has_packed_stays_packed(tmp_path: Path) -> None:
    for name, packed in (("m.gz", gzip.compress(b"\n" * 100)), ("m.bz2", bz2.compress(b"\n" * 100))):
        place = tmp_path / name
        place.write_bytes(packed)
        with fetched(str(place)) as copy:
            assert Path(copy).read_bytes() == packed
        assert ensemble_text._content(str(place)) == packed


def test_an_ensemble_file_has_a_largest_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ensemble_text, "_MOST_BYTES", 100)
    (tmp_path / "e.yaml").write_text("#" * 101)
    files = Files(trusted=(str(tmp_path), "shelf://bucket"))
    monkeypatch.setattr(FileSystems, "open", lambda *_, **__: (tmp_path / "e.yaml").open("rb"))
    for uri in (f"{tmp_path}/e.yaml", "shelf://bucket/e.yaml"):
        with pytest.raises(InvalidEnsemble, match="is larger than") as caught:
            read_uri(uri, files)
        assert caught.value.problems[0].code == "unreadable_file"
