"""URLs that mean another place than they seem to: none counts as trusted, and no redirect leads out of its place."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import requests
from hypothesis import strategies as st

from beam_ensembles.errors import EnsembleError, InvalidEnsemble
from beam_ensembles.files.ensemble_files import FileProblem, Files
from beam_ensembles.files.fetched_files import fetched
from beam_ensembles.files.uris import AmbiguousUri, canonical, is_below, join
from beam_ensembles.files.web_files import OtherHost, open_web
from beam_ensembles.graph import check_text
from beam_ensembles.registry import KINDS
from beam_ensembles_service.settings import Settings, UsageError
from tests.support.fuzzing import fuzz
from tests.support.nodes import problems_of
from tests.support.web_server import content, status, web_server

PREFIX = "https://host.example/models"

OUTSIDE = (
    "https://host.example/models/../uploads/x.joblib", "https://host.example/models/%2e%2e/uploads/x.joblib",
    "https://host.example/models/%2E./uploads/x.joblib", "https://host.example/models/%252e%252e/uploads/x.joblib",
    "https://host.example/models/%25252e%25252e/x.joblib", "https://host.example/models/..%2fuploads/x.joblib",
    "https://host.example/models/a/..;/..;/uploads/x.joblib", "https://host.example/models\\..\\uploads/x.joblib",
    "https://host.example/models/%5c..%5cuploads/x.joblib", "https://host.example/models/./../uploads/x.joblib",
    "https://host.example//models/x.joblib", "https://host.example/models-of-others/x.joblib",
    "https://host.example/models.joblib", "https://host.example/models", "https://host.example/models?/x.joblib",
    "https://host.example/models#/x.joblib", "https://host.example/MODELS/x.joblib",
    "https://host.example:8443/models/x.joblib", "http://host.example/models/x.joblib",
    "https://user@host.example/models/x.joblib", "https://host.example@evil.example/models/x.joblib",
    "https://evil.example\\@host.example/models/x.joblib", "https://evil.example#@host.example/models/x.joblib",
    "https://host.example.evil.example/models/x.joblib", "https://h\u03bfst.example/models/x.joblib",
    "https://host.example%2f@evil.example/models/x.joblib", "https://host.example:443:1/models/x.joblib",
    "https://host.example:/models/x.joblib", "https://host.example:0/models/x.joblib",
    "https://host.example:99999/models/x.joblib", "https://host..example/models/x.joblib", "https:/models/x.joblib",
    "https:host.example/models/x.joblib", "https:///host.example/models/x.joblib",
    "https://host.example/models/x\n.joblib", "https://host.example /models/x.joblib", "https://[host.example]/models/x",
)  # fmt: skip
SAME = (
    "https://host.example/models/x.joblib", "HTTPS://HOST.Example/models/x.joblib",
    "https://host.example:443/models/x.joblib", "https://host.example:0443/models/x.joblib",
    "https://host.example./models/x.joblib", "https://host.example/models/a/b/x.joblib?token=1%2F2",
    "https://host.example/models//x.joblib", "https://host.example/models/x%20y.joblib#part",
)  # fmt: skip


@pytest.mark.parametrize("url", OUTSIDE)
def test_what_is_not_below_a_trusted_prefix(url: str) -> None:
    for prefix in (PREFIX, PREFIX + "/", "HTTPS://Host.Example:443/models"):
        assert not Files(trusted=(prefix,)).is_trusted(url)
    spec = {"model": "sklearn", "uri": url, "format": "joblib", "inputs": ["x"], "outputs": {"y": "double"}}
    text = json.dumps({"ensemble": "e", "inputs": {"x": "double"}, "nodes": {"a": spec}})
    with pytest.raises(InvalidEnsemble) as caught:
        check_text(text, KINDS, Files("/", trusted=(PREFIX,)))
    assert caught.value.problems[0].code in ("untrusted_file", "untrusted_host")


@pytest.mark.parametrize("url", SAME)
def test_other_spellings_of_a_trusted_place(url: str) -> None:
    files = Files(trusted=(PREFIX,))
    assert files.is_trusted(url)
    assert files.check(url) == canonical(url)
    assert canonical(canonical(url)) == canonical(url)


@pytest.mark.parametrize(
    ("prefix", "uri", "expected"),
    [
        ("gs://bucket/models", "gs://bucket/models/x", True),
        ("gs://bucket/models", "gs://bucket/models/../x", False),
        ("gs://bucket/models", "gs://bucket/models%2f..%2fx", False),
        ("gs://bucket/models", "gs://bucket/models2/x", False),
        ("gs://bucket", "gs://bucket2/x", False),
        ("gs://bucket", "gs://user@bucket/x", False),
        ("s3://bucket/a", "s3://bucket/a\\..\\b", False),
        ("hdfs://name:8020/m", "HDFS://NAME:8020/m/x", True),
        ("hdfs://name:8020/m", "hdfs://name:8021/m/x", False),
        ("hdfs://name:8020/m", "hdfs://name:8020/m/./../x", False),
        ("/models", "gs://bucket/models/x", False),
        ("gs://bucket", "https://bucket/x", False),
    ],
)
def test_prefixes_of_storage(prefix: str, uri: str, expected: bool) -> None:
    assert Files(trusted=(prefix,)).is_trusted(uri) is expected


def test_a_relative_uri_stays_in_its_host_or_bucket() -> None:
    assert join("https://h/a/b", "../c.onnx") == "https://h/a/c.onnx"
    assert join("gs://bucket/a/", "./b//c.onnx") == "gs://bucket/a/b/c.onnx"
    for base in ("gs://bucket/a", "https://h/a/"):
        with pytest.raises(AmbiguousUri, match="leads out"):
            join(base, "../../x")
    files = Files("https://host.example/models", trusted=(PREFIX,), hosts=("host.example",))
    assert files.is_trusted(files.resolve("a/../x.joblib"))
    assert not files.is_trusted(files.resolve("../uploads/x.joblib"))


def test_a_digest_of_a_bundle_is_no_prefix() -> None:
    digest = "a" * 64
    files = Files(trusted=(f"bundle:{digest}",))
    assert files.trusts_bundle(digest)
    assert not files.trusts_bundle("a" * 63)
    for uri in (f"bundle:{digest}/x", f"bundle://{digest}/x", f"bundle:{digest}"):
        assert not files.is_trusted(uri)


@pytest.mark.parametrize(
    ("hosts", "url", "allowed"),
    [
        (("*.example.com",), "https://a.example.com/x", True),
        (("*.EXAMPLE.com",), "https://A.example.com./x", True),
        (("*.example.com",), "https://example.com.evil.org/x", False),
        (("*.example.com",), "https://evil.org/.example.com", False),
        (("*.example.com",), "https://evil.org?.example.com", False),
        (("*.example.com",), "https://evil.org#.example.com", False),
        (("*.example.com",), "https://evil.org\\.example.com/x", False),
        (("*.example.com",), "https://evil.org:443@a.example.com/x", False),
        (("*.example.com",), "https://a.example.com@evil.org/x", False),
        (("*.example.com",), "http://a.example.com/x", False),
        (("http://a.example.com:80",), "http://a.example.com/x", True),
        (("http://a.example.com",), "http://a.example.com:8080/x", False),
        (("127.0.0.1",), "https://2130706433/x", False),
        (("127.0.0.1",), "https://[::ffff:127.0.0.1]/x", True),
        (("*",), "https://public.example/x", True),
        (("*",), "https://169.254.169.254/latest/meta-data", False),
        (("*",), "http://169.254.169.254/latest/meta-data", False),
        (("*",), "http://metadata.google.internal/", False),
        (("*",), "http://localhost:9000/", False),
        (("*",), "http://LOCALHOST./", False),
        (("*",), "http://127.1/", False),
        (("*",), "http://0x7f.0.0.1/", False),
        (("*",), "http://0177.0.0.1/", False),
        (("*",), "http://2852039166/", False),
        (("*",), "http://[::1]/", False),
        (("*",), "http://[fe80::1%25eth0]/", False),
        (("*",), "http://[::ffff:169.254.169.254]/", False),
        (("*",), "http://10.1.2.3/", False),
        (("*",), "https://192.0.0.192/opc/v1/instance", False),
        (("*",), "https://[64:ff9b::a9fe:a9fe]/", False),
        (("*",), "https://[64:ff9b::10.0.0.1]/", False),
        (("*",), "https://[64:ff9b:1::10.0.0.1]/", False),
        (("*",), "https://[64:ff9b::8.8.8.8]/", True),
        (("*",), "https://[2002:a00:1::1]/", False),
        (("*",), "https://[2001:0:1:1::f5ff:fffe]/", False),
        (("*",), "https://[::127.0.0.1]/", False),
        (("*",), "https://[::ffff:0:10.0.0.1]/", False),
        (("*",), "https://[fec0::1]/", False),
        (("*",), "https://[2606:4700::1111]/", True),
        (("*",), "https://1.1.1.1/", True),
        (("*",), "https://224.0.0.1/", False),
        (("*",), "https://ip6-localhost/", False),
        (("*",), "https://localhost.localdomain/", False),
        (("*",), "https://kubernetes.default.svc.cluster.local/", False),
        (
            ("*", "kubernetes.default.svc.cluster.local"),
            "https://kubernetes.default.svc.cluster.local/",
            True,
        ),
        (("*",), "https://metadata/", False),
        (("*", "http://10.1.2.3"), "http://10.1.2.3/", True),
        (("*", "169.254.169.254"), "https://169.254.169.254/", True),
    ],
)
def test_hosts(hosts: tuple[str, ...], url: str, allowed: bool) -> None:
    files = Files(hosts=hosts)
    if allowed:
        files.check(url)
        return
    with pytest.raises(FileProblem) as caught:
        files.check(url)
    assert caught.value.code == "untrusted_host"


def test_whoever_runs_a_file_of_their_own_may_call_their_own_network() -> None:
    Files(hosts=("*",), is_own=True).check("http://localhost:8000/model.onnx")


@pytest.mark.parametrize(
    "flags",
    [
        {"trust": ("https://host/../models",)}, {"trust": ("https://user@host/models",)},
        {"trust": ("https://h\\ost/models",)}, {"trust": ("gs://bucket/../x",)}, {"allow_host": ("user@host",)},
        {"allow_host": ("https://host/path",)}, {"allow_host": ("host /x",)}, {"allow_folder": ("gs://bucket",)},
    ],
)  # fmt: skip
def test_the_flags_themselves_are_plain(flags: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        Settings(**flags)


@pytest.mark.parametrize(
    ("location", "is_followed"),
    [
        ("/models/other", True),
        ("other", True),
        ("/uploads/x", False),
        ("../uploads/x", False),
        ("/models/%2e%2e/uploads/x", False),
        ("/models/%252e%252e/uploads/x", False),
        ("/models/..%2fuploads%2fx", False),
        ("//127.0.0.2/models/other", False),
        ("\\\\127.0.0.2\\models", False),
        ("http://127.0.0.1:1/models/other", False),
        ("https://127.0.0.1/models/other", False),
        ("file:///etc/passwd", False),
        ("http://x@127.0.0.1/models/other", False),
        ("http://[::1/", False),
    ],
)
def test_a_redirect_stays_below_what_is_trusted(location: str, is_followed: bool, tmp_path: Path) -> None:
    answers = {
        "/models/x": status(302, Location=location),
        "/models/other": content(b"good"),
        "/uploads/x": content(b"bad"),
    }
    with web_server(answers) as server:
        url, within = f"{server.url}/models/x", (f"{server.url}/models",)
        if is_followed:
            with fetched(url, within=within) as copy:
                assert Path(copy).read_bytes() == b"good"
            return
        with pytest.raises(EnsembleError), fetched(url, within=within) as copy:
            pass
        assert server.asked == ["/models/x"]


def test_a_chain_of_redirects_is_checked_at_each_step_and_ends() -> None:
    answers = {
        "/models/x": status(302, Location="/models/y"),
        "/models/y": status(307, Location="/uploads/z"),
        "/uploads/z": status(302, Location="/models/z"),
        "/models/z": content(b"z"),
        "/models/loop": status(302, Location="loop"),
    }
    with web_server(answers) as server:
        with (
            pytest.raises(OtherHost, match="may not be read in its place"),
            fetched(f"{server.url}/models/x", within=(f"{server.url}/models",)),
        ):
            pass
        assert server.asked == ["/models/x", "/models/y"]
        with fetched(f"{server.url}/models/x") as copy:  # of an allowed host every place may be read
            assert Path(copy).read_bytes() == b"z"
        with pytest.raises(EnsembleError, match="302"):
            open_web(requests.get, f"{server.url}/models/loop")


def test_passwords_of_the_own_user_are_not_sent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """requests sends what ``~/.netrc`` has for a host by itself, for whoever names a file there."""
    given: list[str | None] = []

    def note(to: Any) -> None:
        given.append(to.headers.get("Authorization"))
        content(b"a\nb\n")(to)

    (tmp_path / ".netrc").write_text(
        "machine 127.0.0.1 login own password secret-1\ndefault login x password y\n"
    )
    (tmp_path / ".netrc").chmod(0o600)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("NETRC", raising=False)
    with web_server({"/n.txt": note}) as server:
        node = {"apply": "read", "under": [server.url], "inputs": ["place"], "outputs": {"data": "bytes"}}
        text = json.dumps({"ensemble": "e", "inputs": {"place": "string"}, "nodes": {"a": node}})
        (checked,) = check_text(text, KINDS, Files("/", hosts=(server.url,))).nodes
        reader = KINDS["apply", "read"].load(checked).reader  # type: ignore[attr-defined]
        assert [*reader.read_all([f"{server.url}/n.txt"]).values()] == [b"a\nb\n"]
        with fetched(f"{server.url}/n.txt") as copy:
            assert Path(copy).read_bytes() == b"a\nb\n"
    assert given == [None, None]


def test_a_file_behind_a_redirect_out_of_a_trusted_prefix_is_not_loaded() -> None:
    answers = {"/models/n.txt": status(302, Location="/uploads/n.txt"), "/uploads/n.txt": content(b"a\nb\n")}
    with web_server(answers) as server:
        file = f"{server.url}/models/n.txt"
        node = {"apply": "labels", "file": file, "inputs": ["n"], "outputs": {"y": "string"}}
        text = json.dumps({"ensemble": "e", "inputs": {"n": "int64"}, "nodes": {"a": node}})
        (checked,) = check_text(text, KINDS, Files("/", trusted=(f"{server.url}/models",))).nodes
        with pytest.raises(EnsembleError, match="may not be read in its place"):
            KINDS["apply", "labels"].load(checked)
        assert server.asked == ["/models/n.txt"]


def test_rows_do_not_leave_their_places_by_a_redirect(tmp_path: Path) -> None:
    answers = {
        "/public/x": status(302, Location="/private/y"),
        "/private/y": content(b"secret"),
        "/public/ok": status(302, Location="/public/z"),
        "/public/z": content(b"z"),
    }
    with web_server(answers) as server:
        node = {
            "apply": "read",
            "under": [f"{server.url}/public"],
            "inputs": ["place"],
            "outputs": {"data": "bytes"},
        }
        text = json.dumps({"ensemble": "e", "inputs": {"place": "string"}, "nodes": {"a": node}})
        (checked,) = check_text(text, KINDS, Files("/", hosts=(server.url,))).nodes
        reader = KINDS["apply", "read"].load(checked).reader  # type: ignore[attr-defined]
        found = reader.read_all([f"{server.url}/public/x", f"{server.url}/public/ok"])
        assert [getattr(one, "code", one) for one in found.values()] == ["untrusted_host", b"z"]
        assert "/private/y" not in server.asked


@pytest.mark.parametrize(
    "address", ["10.0.0.1", "192.0.0.192", "::ffff:10.0.0.1", "64:ff9b::a00:1", "fec0::1%2"]
)
def test_a_name_that_leads_into_the_own_network_is_found_when_it_is_read(
    address: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import socket

    from beam_ensembles.files import own_network

    monkeypatch.setattr(own_network.socket, "getaddrinfo", lambda *_: [(0, 0, 0, "", (address, 0))])
    assert socket is own_network.socket
    for hosts, refused in ((("*",), True), (("models.example",), False), (("*", "*.example"), False)):
        files = Files(hosts=hosts)
        files.check("https://models.example/x")
        if refused:
            with pytest.raises(EnsembleError, match="own network"):
                own_network.refuse_own_network(files, "https://models.example/x")
        else:
            own_network.refuse_own_network(files, "https://models.example/x")


def test_is_below_needs_a_boundary() -> None:
    assert not is_below("https://h/models", "https://h/models")
    assert is_below("https://h/models/", "https://h/models")
    assert is_below("https://h/x", "https://h")
    assert not is_below("https://h/x", "https://h/?q")


PIECES = (
    "https://", "http://", "gs://", "file:", "//", "/", "..", ".", "%2e", "%2f", "%5c", "%25", "%", "\\", "@", ":",
    ":443", "?", "#", ";", "[", "]", "*", "[!a", "host.example", "models", "x.joblib", "127.0.0.1", "\0", "\n",
    "\ud800", "\u2024", "\uff0e", " ", "xn--a", "0x7f", "~", "-",
)  # fmt: skip


@fuzz(
    st.lists(st.sampled_from(PIECES), max_size=12).map("".join),
    st.sampled_from([None, "/models", PREFIX, "gs://b/c"]),
)
def test_any_uri_is_refused_or_stays_where_it_was_allowed(uri: str, base: str | None) -> None:
    files = Files(base, trusted=(PREFIX, "/models-that-are-not-there"))
    try:
        found = files.check(uri, folders=True)
    except FileProblem:
        return
    assert found.startswith((f"{PREFIX}/", "/models-that-are-not-there"))
    assert canonical(found) == found
    assert ".." not in found.partition("?")[0].split("/")


@fuzz(st.lists(st.sampled_from(PIECES), max_size=12).map("".join))
def test_a_spelling_is_the_same_when_it_is_spelled_again(uri: str) -> None:
    try:
        found = canonical(uri)
    except AmbiguousUri:
        return
    assert canonical(found) == found


@pytest.mark.parametrize("name", ["Host", "host", "Transfer-Encoding", "content-length", "Connection"])
@pytest.mark.parametrize(
    "spec",
    [
        {"model": "chat", "url": "https://localhost/v1", "name": "m", "text": True,
         "messages": [{"role": "user", "content": "{word}"}]},
        {"model": "embed", "url": "https://localhost/v1", "name": "m"},
        {"model": "open_inference", "uri": "grpcs://localhost:1/m"},
    ],
    ids=lambda spec: str(spec["model"]),
)  # fmt: skip
def test_a_header_leads_to_no_other_server(spec: dict[str, Any], name: str, tmp_path: Path) -> None:
    """A proxy, or a content delivery network, sends a request on to the server that ``Host`` names."""
    node = {
        **spec,
        "inputs": ["word"],
        "outputs": {"y": "string"},
        "config": {"headers": {name: "other.example"}},
    }
    assert ("unsupported_option", f"config.headers.{name}") in problems_of(tmp_path, {"word": "string"}, node)
