"""``apply: read``: what is read, from where, and what becomes of the rows whose file is not there."""

from __future__ import annotations

import hashlib
import json
import os
import socket
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from apache_beam.io.localfilesystem import LocalFileSystem

from beam_ensembles.execution.bisecting import run_split
from beam_ensembles.files.ensemble_files import ANYTHING, Files
from beam_ensembles.graph import check_text
from beam_ensembles.graph.kinds import Member
from beam_ensembles.handlers.support import retrying
from beam_ensembles.registry import KINDS
from tests.support.media import objects
from tests.support.nodes import load_node, problems_of, types_of
from tests.support.web_server import after, chunked, content, dripping, first, status, web_server, zipped

NODE: dict[str, Any] = {"apply": "read", "inputs": ["place"], "outputs": {"data": None}}
TYPES = {"place": "string"}


@pytest.fixture(autouse=True)
def _short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retrying, "FIRST_WAIT", 0.01)


class ShelfFileSystem(LocalFileSystem):
    """A storage, ``shelf:///path``; breaks as often as told before it gives a file."""

    breaks = 0

    @classmethod
    def scheme(cls) -> str:
        return "shelf"

    def open(self, path: str, mime_type: str = "", compression_type: str = "auto") -> Any:
        if ShelfFileSystem.breaks:
            ShelfFileSystem.breaks -= 1
            raise OSError("the shelf shakes")
        return super().open(path.removeprefix("shelf://"), mime_type, compression_type)

    def exists(self, path: str) -> bool:
        return super().exists(path.removeprefix("shelf://"))


def loaded(files: Files, **more: Any) -> Member:
    text = json.dumps({"ensemble": "test", "inputs": TYPES, "nodes": {"node": NODE | more}})
    node = check_text(text, KINDS, files).nodes[0]
    return KINDS["apply", "read"].load(node)


def web(server: Any, **more: Any) -> Member:
    return loaded(Files(hosts=(server.url,)), **more)


def read(member: Member, *names: str) -> list[Any]:
    """Returns the bytes of each row, or the code of its failure."""
    good, faults = run_split(member, {"place": objects(*names)}, len(names))
    found = iter(good.get("data", ()))
    return [faults[at].code if at in faults else next(found) for at in range(len(names))]


def message(member: Member, name: str) -> str:
    _, faults = run_split(member, {"place": objects(name)}, 1)
    return faults[0].message


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    folder = tmp_path / "photos"
    (folder / "deep").mkdir(parents=True)
    (folder / "a.png").write_bytes(b"\x89a")
    (folder / "deep" / "b.gz").write_bytes(b"\x1f\x8bnot unzipped")
    (folder / "empty").write_bytes(b"")
    (tmp_path / "secret.txt").write_bytes(b"secret")
    return tmp_path


def test_files_of_this_machine(photos: Path) -> None:
    node = NODE | {"under": ["photos"]}
    assert types_of(photos, TYPES, node) == {"data": "bytes"}
    names = ("a.png", f"{photos}/photos/deep/b.gz", f"file://{photos}/photos/a.png", "empty", "deep/../a.png")
    assert read(load_node(photos, TYPES, node), *names) == [
        b"\x89a", b"\x1f\x8bnot unzipped", b"\x89a", b"", b"\x89a",
    ]  # fmt: skip


def test_rows_name_nothing_outside_of_what_the_file_allows(photos: Path) -> None:
    (photos / "photos" / "link").symlink_to(photos / "secret.txt")
    (photos / "photos" / "way").symlink_to(photos)
    member = load_node(photos, TYPES, NODE | {"under": ["photos"]})
    outside = (
        "/etc/passwd", "file:///etc/passwd", "../secret.txt", "link", "way/secret.txt", "photos/../../secret.txt",
        f"{photos}/photos-of-others/x", "gs://bucket/x", "http://127.0.0.1/x", "shelf:/etc/passwd",
    )  # fmt: skip
    assert read(member, *outside) == ["untrusted_file"] * len(outside)
    assert "they may name: " in message(member, "/etc/passwd")


def test_without_under_no_local_file_is_read(photos: Path) -> None:
    member = loaded(Files(str(photos), ("/",), hosts=ANYTHING))
    names = (f"{photos}/photos/a.png", "photos/a.png", "file:///etc/passwd", "gs://bucket/x")
    assert read(member, *names) == ["untrusted_file"] * 4


def test_a_row_whose_file_is_not_there_fails_alone(photos: Path) -> None:
    os.mkfifo(photos / "photos" / "pipe")
    member = load_node(photos, TYPES, NODE | {"under": ["photos"], "max_bytes": 8})
    assert read(member, "a.png", "none", "deep", "pipe", "deep/b.gz", "", "empty") == [
        b"\x89a", "missing_file", "unreadable_file", "unreadable_file", "unreadable_file", "missing_file", b"",
    ]  # fmt: skip
    assert message(member, "deep/b.gz").endswith("is larger than the 8 bytes of 'max_bytes'")


def test_files_of_storage_are_tried_again(photos: Path) -> None:
    member = loaded(Files(hosts=("shelf://",)), under=[f"shelf://{photos}/photos"], concurrency=1)
    ShelfFileSystem.breaks = 2
    names = [f"shelf://{photos}/photos/{name}" for name in ("a.png", "deep/b.gz", "none")]
    assert read(member, *names) == [b"\x89a", b"\x1f\x8bnot unzipped", "missing_file"]
    ShelfFileSystem.breaks = 3
    assert read(member, names[0]) == ["server_unreachable"]
    unknown = loaded(Files(hosts=("nowhere://*",)), under=["nowhere://bucket"])
    assert read(unknown, "nowhere://bucket/x", "nowhere://bucket2/x", "nowhere://bucket/../x") == [
        "unreadable_file", "untrusted_file", "untrusted_file",
    ]  # fmt: skip


def test_files_of_the_web() -> None:
    big = os.urandom(1 << 19)
    answers = {
        "/plain": content(b"plain"), "/zipped": zipped(b"zip" * 1000), "/chunked": chunked(b"one ", b"two"),
        "/big": content(big), "/moved": status(302, Location="/plain"), "/none.png": content(b""),
        "/flaky": first(status(503), content(b"half", content_length="100", connection="close"), content(b"whole")),
    }  # fmt: skip
    with web_server(answers) as server:
        names = [server.url + path for path in answers]
        found = read(web(server), *names, server.url + "/plain")
        assert hashlib.sha256(found.pop(3)).digest() == hashlib.sha256(big).digest()
        assert found == [b"plain", b"zip" * 1000, b"one two", b"plain", b"", b"whole", b"plain"]
        assert server.asked.count("/plain") == 2  # once for two rows, once where /moved leads


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (status(404), "missing_file"),
        (status(410), "missing_file"),
        (status(403), "unreadable_file"),
        (status(500), "server_unreachable"),
        (status(301, Location="http://127.0.0.2:1/x"), "untrusted_host"),
        (status(302, Location="/x"), "unreadable_file"),
        (content(b"x" * 101), "unreadable_file"),
        (chunked(b"x" * 100, b"x"), "unreadable_file"),
        (zipped(b"x" * 101), "unreadable_file"),
        (content(b"x", content_length="100", connection="close"), "server_unreachable"),
        (after(3600, content(b"late")), "server_unreachable"),
        (dripping(0.5), "server_unreachable"),
    ],
)
def test_what_the_web_refuses_is_its_rows_alone(answer: Any, code: str) -> None:
    with web_server({"/x": answer, "/good": content(b"good")}) as server:
        member = web(server, max_bytes=100, timeout=1.5, retries=1)
        start = time.monotonic()
        assert read(member, f"{server.url}/x", f"{server.url}/good") == [code, b"good"]
        assert time.monotonic() - start < 40  # the dripping one alone would take 50 seconds


def test_a_host_that_is_not_there_is_given_up_once() -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        gone = f"http://127.0.0.1:{closed.getsockname()[1]}"
    member = loaded(Files(hosts=(gone,)), retries=1, concurrency=2)
    names = [f"{gone}/{number}" for number in range(500)]
    assert read(member, *names) == ["server_unreachable"] * 500
    _, faults = run_split(member, {"place": objects(*names)}, 500)
    assert sum(fault.message.startswith("not tried, since") for fault in faults.values()) > 400


def test_files_are_read_side_by_side_but_not_too_many() -> None:
    answers = {f"/{number}": after(0.05, content(b"%d" % number)) for number in range(24)}
    with web_server(answers) as server:
        found = read(web(server, concurrency=8), *(server.url + path for path in answers))
        assert found == [b"%d" % number for number in range(24)]
        assert 3 <= server.most_at_once <= 8


def test_only_hosts_that_somebody_allowed_are_asked() -> None:
    with web_server({"/x": content(b"x")}) as server, web_server({"/x": content(b"y")}) as other:
        member = web(server)
        assert read(member, f"{server.url}/x", f"{other.url}/x") == [b"x", "untrusted_host"]
        assert "--allow-host" in message(member, f"{other.url}/x")
        assert other.asked == []


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]", "169.254.169.254", "10.0.0.1", "0x7f.1"])
def test_who_may_name_any_host_may_not_name_those_of_the_workers_own_network(host: str) -> None:
    assert read(loaded(Files(hosts=ANYTHING)), f"http://{host}/latest/meta-data") == ["untrusted_host"]


def test_a_host_of_the_own_network_may_be_named_beside_all_others() -> None:
    with web_server({"/x": content(b"x")}) as server:
        assert read(loaded(Files(hosts=("*", server.url))), f"{server.url}/x") == [b"x"]
        assert read(loaded(Files(hosts=("*", "example.org"))), f"{server.url}/x") == ["untrusted_host"]


def test_under_may_name_a_host_of_the_own_network() -> None:
    with web_server({"/public/x": content(b"x"), "/private/x": content(b"y")}) as server:
        member = loaded(Files(hosts=ANYTHING, is_own=True), under=[f"{server.url}/public/"])
        url = server.url.replace("http", "HTTP")
        assert read(member, f"{url}/public/x", "x", f"{server.url}/private/x") == [
            b"x",
            b"x",
            "untrusted_file",
        ]
        tricks = ("/public/../private/x", "/public/%2e%2e/private/x", "/public\\..\\private/x", "/publicity")
        assert read(member, *(server.url + trick for trick in tricks)) == ["untrusted_file"] * 4
        assert read(member, f"http://127.0.0.1:{server.server_port}@evil/public/x") == ["untrusted_file"]
        assert set(server.asked) == {"/public/x"}


@pytest.mark.parametrize(
    ("more", "wanted"),
    [
        ({"inputs": None}, [("missing_key", "inputs")]),
        ({"inputs": ["place", "n"]}, [("unknown_port", "inputs[0]")]),
        ({"inputs": {"url": "place"}}, [("unknown_port", "inputs.url")]),
        ({"inputs": ["n"]}, [("type_mismatch", "inputs[0]")]),
        ({"outputs": {"data": "string"}}, [("type_mismatch", "outputs.data")]),
        ({"outputs": {"data": {"from": "text"}}}, [("unknown_port", "outputs.data")]),
        ({"max_bytes": 0}, [("bad_value", "max_bytes")]),
        ({"concurrency": 1000}, [("bad_value", "concurrency")]),
        ({"retries": -1}, [("bad_value", "retries")]),
        ({"under": []}, [("bad_value", "under")]),
        ({"under": [1, "none"]}, [("wrong_type", "under[0]"), ("missing_file", "under[1]")]),
        ({"under": ["secret.txt"]}, [("bad_value", "under[0]")]),
        ({"under": ["/etc"]}, [("untrusted_file", "under[0]")]),
        ({"under": ["https://example.org/x"]}, [("untrusted_host", "under[0]")]),
    ],
)
def test_what_is_wrong(photos: Path, more: dict[str, Any], wanted: list[tuple[str, str]]) -> None:
    assert problems_of(photos, TYPES | {"n": "int64"}, NODE | more) == wanted


def test_a_service_that_allows_no_host_says_what_is_missing(photos: Path) -> None:
    assert problems_of(photos, TYPES, NODE, trust=False) == [("missing_key", "under")]
    assert problems_of(photos, TYPES, NODE | {"under": ["photos"]}, trust=False) == [
        ("untrusted_file", "under[0]")
    ]


def test_the_same_name_twice_is_the_same_bytes(photos: Path) -> None:
    member = load_node(photos, TYPES, NODE | {"under": ["photos"], "outputs": {"a": None, "b": "bytes"}})
    found = member({"place": objects("a.png", "a.png")})
    assert found["a"].tolist() == found["b"].tolist() == [b"\x89a"] * 2
    assert found["a"].dtype == np.dtype(object)
