"""Callers name local files that are not theirs to read: they learn nothing, and hold nothing for long."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import sqlite3
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any, cast

import grpc
import pytest
from apache_beam.portability.api import beam_expansion_api_pb2_grpc

from beam_ensembles.errors import InvalidEnsemble, NodeError
from beam_ensembles.execution.answer_cache import cache_of
from beam_ensembles.files import private_copy
from beam_ensembles.files.ensemble_files import FileProblem, Files
from beam_ensembles.files.local_files import Budget, TooMuch, contents, newest_match, open_regular, sha256_of
from beam_ensembles.functions.read import reader
from beam_ensembles.functions.read.places import Places
from beam_ensembles.functions.read.reader import Limits, Reader
from beam_ensembles.graph import check_text
from beam_ensembles.handlers.support.file_bytes import opened_bytes
from beam_ensembles.handlers.support.model_file import verified
from beam_ensembles.registry import KINDS
from tests.support.expansion_requests import like_go, schema
from tests.support.models import write_graph
from tests.support.nodes import check_node
from tests.support.patience import SECONDS
from tests.support.service import running_service

ROWS = schema("rows", x="double", n="int64", place="string")
PIN = "0" * 64


@pytest.fixture(scope="module")
def trusted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("trusted")


@pytest.fixture(scope="module")
def stub(trusted: Path) -> Iterator[Any]:
    with (
        running_service("--serve-loopback-worker", "--trust", str(trusted)) as service,
        grpc.insecure_channel(service.address) as channel,
    ):
        yield beam_expansion_api_pb2_grpc.ExpansionServiceStub(channel)


@pytest.fixture(scope="module")
def secrets(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a stranger would like to know of: files, a folder, a pipe and a device, all untrusted."""
    folder = tmp_path_factory.mktemp("private")
    (folder / "there").write_text("secret\n")
    (folder / "there.yaml").write_text("ensemble: e\n")
    (folder / "closed").write_text("secret\n")
    (folder / "closed").chmod(0)
    (folder / "folder").mkdir()
    (folder / "folder" / "config.json").write_text("{}")
    (folder / "folder" / "vocab.txt").write_text("")
    os.mkfifo(folder / "pipe")
    (folder / "zero").symlink_to("/dev/zero")
    (folder / "kernel").symlink_to("/proc/version")
    return folder


NAMES = ("there", "closed", "folder", "pipe", "zero", "kernel", "th*", "*", "there/x", "folder/../there")
PINNED = {"sha256": PIN}
JOBLIB: dict[str, Any] = {
    "model": "sklearn", "uri": "FILE", "format": "joblib", "inputs": ["x"], "outputs": {"y": "double"}
}  # fmt: skip
LABELS: dict[str, Any] = {"apply": "labels", "file": "FILE", "inputs": ["n"], "outputs": {"y": "string"}}
NODES: tuple[dict[str, Any], ...] = (
    {"model": "onnx", "uri": "FILE", "inputs": ["x"], "outputs": {"y": "float"}},
    {"model": "onnx", "uri": "FILE", "inputs": ["x"], "outputs": {"y": "float"}, **PINNED},
    {"model": "sklearn", "uri": "FILE", "format": "skops", "inputs": ["x"], "outputs": {"y": "double"}},
    JOBLIB,
    {**JOBLIB, **PINNED},
    {"model": "xgboost", "uri": "FILE", "inputs": ["x"], "outputs": {"y": "double"}},
    {"model": "lightgbm", "uri": "FILE", "inputs": ["x"], "outputs": {"y": "double"}},
    {"model": "catboost", "uri": "FILE", "inputs": ["x"], "outputs": {"y": "double"}},
    {"model": "catboost", "uri": "FILE", "inputs": ["x"], "outputs": {"y": "double"}, **PINNED},
    {"model": "pytorch", "uri": "FILE", "inputs": ["x"], "outputs": {"y": "float"}, "model_class": "torch.nn.Linear"},
    {"model": "tensorflow", "uri": "FILE", "inputs": ["x"], "outputs": {"y": "float"}},
    {"model": "tensorrt", "uri": "FILE", "inputs": ["x"], "outputs": {"y": "float"}},
    {"model": "python", "handler": "transformers.pipeline", "uri": "FILE", "inputs": ["x"], "outputs": {"y": "float"}},
    {"model": "huggingface", "task": "text-classification", "uri": "FILE", "inputs": ["place"],
     "outputs": {"y": "string"}},
    LABELS,
    {"apply": "labels", "file": "FILE", "inputs": ["n"], "outputs": {"y": "string"}, **PINNED},
    {"apply": "lookup", "url": "sqlite:///FILE", "table": "t", "key": "n", "missing": "nullify",
     "outputs": {"y": "string?"}},
    {"apply": "read", "under": ["FILE"], "inputs": ["place"], "outputs": {"y": "bytes"}},
)  # fmt: skip


def ensemble(node: Mapping[str, Any], file: str) -> str:
    text = json.dumps(
        {"ensemble": "e", "inputs": {"x": "double", "n": "int64", "place": "string"}, "nodes": {"a": node}}
    )
    return text.replace("FILE", json.dumps(file)[1:-1])


def answer(stub: Any, config: Mapping[str, Any]) -> str:
    found: str = stub.Expand(like_go(config, ROWS), timeout=SECONDS).error
    return found


@pytest.mark.parametrize(
    "node", NODES, ids=lambda node: next(iter(node.values())) + "-pinned" * ("sha256" in node)
)
def test_nothing_is_said_of_files_outside_of_trusted_folders(
    node: dict[str, Any], stub: Any, secrets: Path
) -> None:
    missing = f"{secrets}/not-there-at-all"
    wanted = answer(stub, {"spec": ensemble(node, missing)}).replace(missing, "NAME")
    assert re.search(r"\[(untrusted_file|sha256_mismatch)\]", wanted), wanted
    assert "missing_file" not in wanted
    for name in NAMES:
        uris = () if "url" in node else (f"file://{secrets}/{name}",)
        for form in (f"{secrets}/{name}", *uris):
            found = answer(stub, {"spec": ensemble(node, form)}).replace(form, "NAME")
            assert found == wanted, (form, found, wanted)


def test_a_base_uri_vouches_for_nothing(stub: Any, secrets: Path) -> None:
    for base, name in (
        ("/", f"..{secrets}/there"),
        (str(secrets), "there"),
        (str(secrets), "th*"),
        ("/", "etc/*ow"),
    ):
        found = answer(stub, {"spec": ensemble(NODES[0], name), "base_uri": base})
        assert "[untrusted_file]" in found
        assert "shadow" not in found


@pytest.mark.parametrize(
    "uri",
    ["/etc/*ow", os.path.expanduser("~/.*"), "/*/*/*/*/*/*/*/*", "/**/*", "/proc/*/environ", "/[a-z]*/*/.*"],
)
def test_patterns_outside_of_trusted_folders_are_not_listed(
    uri: str, stub: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = answer(stub, {"spec": ensemble(NODES[0], uri)})
    assert "[untrusted_file]" in found
    assert f"'{uri}'" in found
    listed: list[str] = []
    with monkeypatch.context() as patched:
        patched.setattr(os, "scandir", listed.append)
        with pytest.raises(FileProblem) as caught:
            Files().check(uri)
    assert (caught.value.code, listed) == ("untrusted_file", [])


def test_ensemble_files_and_bundles_are_not_told_of_either(stub: Any, secrets: Path) -> None:
    for ending in (".yaml", ".ensemble.zip"):
        wanted = answer(stub, {"spec_uri": f"{secrets}/none{ending}"}).replace("none", "NAME")
        assert "[untrusted_file]" in wanted
        for name in ("there", "pipe", "zero", "*"):
            assert (
                answer(stub, {"spec_uri": f"{secrets}/{name}{ending}"}).replace(
                    name + ending, f"NAME{ending}"
                )
                == wanted
            )


def test_links_and_dots_do_not_lead_out_of_a_trusted_folder(stub: Any, trusted: Path, secrets: Path) -> None:
    (trusted / "link").symlink_to(secrets / "there")
    (trusted / "way").symlink_to(secrets)
    (trusted / "deep").mkdir()
    for name in (
        "link",
        "way/there",
        "way/th*",
        "*/there",
        "deep/../../*",
        "deep/*/../../../etc/pass*",
        "l*",
    ):
        found = answer(stub, {"spec": ensemble(NODES[0], f"{trusted}/{name}")})
        assert re.search(r"\[(untrusted_file|missing_file)\]", found), (name, found)
        assert str(secrets) not in found
    there, none = (
        answer(stub, {"spec": ensemble(NODES[0], f"{trusted}/*/{name}*")}) for name in ("the", "nix")
    )
    assert there.replace("the*", "") == none.replace("nix*", "")


def test_in_a_trusted_folder_mistakes_are_explained(stub: Any, trusted: Path) -> None:
    (trusted / "network.onnx").write_bytes(b"not a graph")
    assert "did you mean 'network.onnx'" in answer(
        stub, {"spec": ensemble(NODES[0], f"{trusted}/netwrok.onnx")}
    )
    assert "no file matches the pattern" in answer(stub, {"spec": ensemble(NODES[0], f"{trusted}/x*")})


def test_names_that_no_file_can_have() -> None:
    for name in ("/a\0b", "/models/a\0b", "/" + "x" * 10_000, "/\ud800"):
        with pytest.raises(FileProblem) as caught:
            Files(trusted=("/models",)).check(name)
        assert caught.value.code == "untrusted_file"
        assert not Files(trusted=("/",)).is_trusted(name) or len(name) > 9_000


@pytest.mark.parametrize("uri", ["file:models/a", "file://elsewhere/models/a", "FILE:etc/passwd", "file:"])
def test_file_uris_that_are_relative_or_name_a_host_are_refused(uri: str) -> None:
    with pytest.raises(FileProblem) as caught:
        Files("/models", ("/models",), hosts=("*",)).check(uri)
    assert caught.value.code == "bad_value"


def test_a_pattern_has_limits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(300):
        (tmp_path / f"d{number % 20}" / f"e{number}").mkdir(parents=True)
    with pytest.raises(TooMuch, match="too many"):
        newest_match(f"{tmp_path}/*/*", Budget(entries=200))
    with pytest.raises(TooMuch, match="deeper"):
        newest_match(f"{tmp_path}" + "/*" * 17)
    with pytest.raises(TooMuch, match="seconds"):
        newest_match("/*/*/*/*/*/*/*/*", Budget(entries=1 << 40, seconds=0.3))
    assert newest_match(f"{tmp_path}/**/../../*") is None
    monkeypatch.setattr("beam_ensembles.files.ensemble_files.Budget", lambda: Budget(seconds=0.5))
    files = Files(trusted=("/",))
    with pytest.raises(FileProblem) as caught:
        files.check("/*/*/*/*/*/*/*/*")
    assert caught.value.code == "unreadable_file"


def test_two_stars_are_as_one(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "b" / "m.onnx").touch()
    assert newest_match(f"{tmp_path}/**/m.onnx") is None
    assert newest_match(f"{tmp_path}/**/b/m.onnx") == f"{tmp_path}/a/b/m.onnx"


@pytest.mark.parametrize("name", ["pipe", "zero", "kernel"])
def test_what_is_no_regular_file_is_never_read(name: str, secrets: Path) -> None:
    for read in (open_regular, sha256_of):
        with pytest.raises(OSError, match="not a regular file"):
            read(str(secrets / name))
    with pytest.raises(FileProblem, match="not a regular file"):
        Files(trusted=("/",)).check(str(secrets / name))


def test_a_file_that_was_trusted_is_looked_at_again_when_it_is_loaded(tmp_path: Path) -> None:
    (tmp_path / "models").mkdir()
    (tmp_path / "stranger").mkdir()
    for folder in ("models", "stranger"):
        (tmp_path / folder / "names.txt").write_text("a\nb\n")
    text = ensemble(LABELS, f"{tmp_path}/models/names.txt")
    (node,) = check_text(text, KINDS, Files(trusted=(f"{tmp_path}/models",))).nodes
    KINDS["apply", "labels"].load(node)
    (tmp_path / "models" / "names.txt").unlink()
    (tmp_path / "models" / "names.txt").symlink_to(tmp_path / "stranger" / "names.txt")
    with pytest.raises(InvalidEnsemble, match="leads out of the trusted folder"):
        KINDS["apply", "labels"].load(node)


def test_a_pinned_file_that_others_can_change_is_compared_and_loaded_from_a_copy(tmp_path: Path) -> None:
    names = tmp_path / "names.txt"
    names.write_text("a\nb\n")
    node = {**JOBLIB, "sha256": sha256_of(str(names))}
    (checked,) = check_text(ensemble(node, str(names)), KINDS, Files()).nodes
    with verified(checked) as own:
        assert own == str(names)
    names.chmod(0o666)
    with verified(checked) as copy:
        names.write_text("exchanged")
        assert copy != str(names)
        assert sha256_of(copy) == node["sha256"]
    with pytest.raises(InvalidEnsemble, match="sha256_mismatch"), verified(checked):
        pass


def test_a_file_that_others_can_change_is_checked_and_loaded_from_a_copy(tmp_path: Path) -> None:
    """Otherwise it could be exchanged between the check of its operators, or weights, and its load."""
    model = write_graph(
        tmp_path / "model.onnx", [("Neg", ["x"], ["y"], {})], [("x", "FLOAT", ["N"])], [("y", "FLOAT", ["N"])]
    )
    node = {"model": "onnx", "uri": "FILE", "inputs": ["x"], "outputs": {"y": "float"}}
    text = ensemble(node, str(model)).replace('"x": "double"', '"x": "float"')
    files = Files(readable=(str(tmp_path),))
    (checked,) = check_text(text, KINDS, files).nodes
    with verified(checked) as own:
        assert own == str(model)
    model.chmod(0o666)
    before = model.read_bytes()
    with verified(checked) as copy:
        model.write_text("exchanged")
        assert Path(copy).read_bytes() == before
    model.rename(tmp_path / "own.onnx").write_bytes(before)
    model.symlink_to(tmp_path / "own.onnx")
    with verified(checked) as copy:
        (tmp_path / "own.onnx").write_text("exchanged")
        assert Path(copy).read_bytes() == before


def test_a_folder_with_links_that_others_can_change_is_checked_and_loaded_from_a_copy(tmp_path: Path) -> None:
    """A link within a model of TensorFlow kept it from being copied, so that its graph could be exchanged."""
    model, blobs = tmp_path / "snapshots" / "commit", tmp_path / "blobs"
    for folder in (model / "part", blobs):
        folder.mkdir(parents=True)
    for file in (model / "graph", model / "part" / "weights", blobs / "blob", tmp_path / "secret"):
        file.write_text(file.name)
        file.chmod(0o666)
    for name, target in (
        ("same", "graph"),
        ("again", "../../blobs/blob"),
        ("more", "../../blobs/blob"),
        ("folder", str(model / "part")),
    ):
        (model / name).symlink_to(target)
    with _private_copy(model) as copy:
        for file in (model / "graph", model / "part" / "weights", blobs / "blob"):
            file.write_text("exchanged")
        names = ("graph", "same", "again", "more", "folder/weights")
        assert [Path(copy, name).read_text() for name in names] == [
            "graph",
            "graph",
            "blob",
            "blob",
            "weights",
        ]
        assert Path(copy, "again").samefile(Path(copy, "more"))
        assert not contents(copy).strays
    (model / "stray").symlink_to(tmp_path / "secret")
    with (
        pytest.raises(private_copy.LeadsOut, match="the link 'stray', which leads out"),
        _private_copy(model),
    ):
        pass


def _private_copy(model: Path, *, is_pinned: bool = False) -> contextlib.AbstractContextManager[str]:
    return private_copy.out_of_reach(str(model), lambda _: [], is_pinned=is_pinned, may_name=lambda _: True)


@pytest.mark.parametrize("is_pinned", [True, False])
def test_no_link_of_a_copy_leads_to_what_can_be_exchanged(is_pinned: bool, tmp_path: Path) -> None:
    """A link to a folder outside was part of the copy, and no part of its digest: ``a -> /`` copied the whole disk."""
    model = tmp_path / "model"
    for folder in (model, tmp_path / "other"):
        folder.mkdir()
        (folder / "weights").write_text("own")
        folder.chmod(0o777)
    (model / "own").mkdir()
    (model / "again").symlink_to("own")
    with _private_copy(model, is_pinned=is_pinned) as copy:
        assert sorted(os.listdir(copy)) == ["again", "own", "weights"]
        assert os.path.realpath(os.path.join(copy, "again")) == os.path.realpath(os.path.join(copy, "own"))
    (model / "part").symlink_to(tmp_path / "other")
    copying = _private_copy(model, is_pinned=is_pinned)
    with pytest.raises(private_copy.LeadsOut, match="the link 'part', which leads out"), copying:
        pass
    with pytest.raises(OSError, match="'part' is a link to a folder outside, which no digest covers"):
        sha256_of(str(model))


def test_a_copy_is_as_large_as_its_model_and_no_larger(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file without contents filled the disk, and one that grew never ended."""
    model = tmp_path / "model.txt"
    with model.open("wb") as file:
        file.write(b"weights")
        file.truncate(256 << 20)
    model.chmod(0o666)
    opened = private_copy.open_regular

    class Growing(io.FileIO):
        def read(self, size: int | None = -1, /) -> bytes:
            with model.open("ab") as more:
                more.write(b"more")
            return super().read(size)

    def growing(path: str) -> IO[bytes]:
        with opened(path) as file:
            return cast("IO[bytes]", Growing(os.dup(file.fileno())))

    monkeypatch.setattr(private_copy, "open_regular", growing)
    with _private_copy(model) as copy:
        found = os.stat(copy)
        assert (found.st_size, found.st_blocks * 512 < 4 << 20) == (256 << 20, True)
        with open(copy, "rb") as file:
            assert file.read(8) == b"weights\0"
    monkeypatch.undo()
    monkeypatch.setattr(private_copy, "MOST_BYTES", 100 << 20)
    with pytest.raises(OSError, match="more than 0 GiB"), _private_copy(model):
        pass


def test_a_file_that_is_cut_off_while_it_is_read_ends_no_process(tmp_path: Path) -> None:
    """Mapped to memory, it did: SIGBUS, in the service as in a worker."""
    path = tmp_path / "model.onnx"
    path.write_bytes(bytes(1 << 20))
    with opened_bytes(str(path)) as data:
        assert (data[1 << 19], data[4:6], data.find(b"x", 0, len(data))) == (0, b"\0\0", -1)
        path.write_bytes(b"")
        with pytest.raises(OSError, match="cut off while it was read"):
            data[1 << 18]


@pytest.mark.parametrize("replaced", ["model.txt", "part"])
def test_a_link_that_is_put_there_during_the_copy_is_not_followed(
    replaced: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret, model = tmp_path / "secret", tmp_path / "models"
    for folder in (secret, secret / "part", model, model / "part"):
        folder.mkdir()
    for file in (secret / "model.txt", secret / "part" / "weights.txt"):
        file.write_text("secret")
    for file in (model / "model.txt", model / "part" / "weights.txt"):
        file.write_text("own")
        file.chmod(0o666)
    opened = private_copy.open_regular

    def swapped(path: str) -> IO[bytes]:
        if replaced in path.split("/"):
            (model / replaced).rename(tmp_path / "aside")
            (model / replaced).symlink_to(secret / replaced)
        return opened(path)

    monkeypatch.setattr(private_copy, "open_regular", swapped)
    copying = private_copy.out_of_reach(
        str(model / "model.txt"), lambda _: ["part/weights.txt"], is_pinned=False, may_name=lambda _: False
    )
    with pytest.raises(OSError, match="leads out of the model's folder"), copying:
        pass


@pytest.mark.parametrize("replaced", ["row.txt", "part"])
def test_a_link_that_is_put_there_while_a_row_is_read_is_not_followed(
    replaced: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A row was told the contents of any file of the worker, if its caller could write where rows are read."""
    for folder in ("secret", "under"):
        (tmp_path / folder / "part").mkdir(parents=True)
        (tmp_path / folder / "part" / "row.txt").write_text(folder)
    under, named = tmp_path / "under", "part/row.txt"
    places = Places((str(under),), Files(readable=(str(under),)))
    limits = Limits(max_bytes=100, seconds=5.0, retries=0, concurrency=1)
    assert Reader(places, limits).read_all([named]) == {named: b"under"}
    opened = reader.open_regular

    def swapped(path: str) -> IO[bytes]:
        at = next(one for one in (under / "part", under / named) if one.name == replaced)
        at.rename(tmp_path / "aside")
        at.symlink_to(tmp_path / "secret" / at.relative_to(under))
        return opened(path)

    monkeypatch.setattr(reader, "open_regular", swapped)
    (found,) = Reader(places, limits).read_all([named]).values()
    assert isinstance(found, NodeError)
    assert "was replaced while it was read" in str(found)


@pytest.mark.parametrize(
    "place", ["file:/run/secrets/../../etc/shadow", "file:/run/secrets/a/../../../etc/shadow"]
)
def test_a_pattern_of_secrets_is_not_left_by_dots(place: str) -> None:
    with pytest.raises(FileProblem) as caught:
        Files(secrets=("file:/run/secrets/*",)).check_secret(place)
    assert caught.value.code == "untrusted_secret"


@pytest.mark.parametrize("is_cache", [True, False])
def test_a_database_that_was_trusted_is_looked_at_again_when_it_is_opened(
    is_cache: bool, tmp_path: Path
) -> None:
    trusted, outside = tmp_path / "trusted", tmp_path / "outside"
    for folder in (trusted, outside):
        folder.mkdir()
        with sqlite3.connect(folder / "a.db") as made:
            made.execute("CREATE TABLE t (k TEXT, v TEXT)")
        made.close()
    node: dict[str, Any] = {
        "apply": "lookup",
        "url": "sqlite:///a.db",
        "table": "t",
        "key": ["k"],
        "outputs": {"v": "string"},
    }
    if is_cache:
        node = {
            "model": "python", "handler": "tests.support.model_handlers.Doubled", "inputs": ["x"],
            "outputs": {"y": "double"}, "cache": {"uri": "sqlite:///a.db"},
        }  # fmt: skip
    checked = check_node(trusted, {"x": "array<double>[2]", "k": "string"}, node)
    (trusted / "a.db").unlink()
    (trusted / "a.db").symlink_to(outside / "a.db")
    with pytest.raises(InvalidEnsemble, match="is not trusted") as raised:
        cache_of(checked) if is_cache else checked.kind.load(checked)
    assert [problem.code for problem in raised.value.problems] == ["untrusted_file"]
