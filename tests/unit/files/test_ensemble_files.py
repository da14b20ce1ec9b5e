"""Where files are, and why one cannot be used."""

from __future__ import annotations

import hashlib
import os
import pathlib
import subprocess

import pytest

from beam_ensembles.files.ensemble_files import LIBRARY_CODE, FileProblem, Files, local_path, sha256_of


@pytest.mark.parametrize(
    ("base", "uri", "expected"),
    [
        ("/models", "a.onnx", "/models/a.onnx"),
        ("/models/", "../a.onnx", "/a.onnx"),
        ("file:///my%20models", "a.onnx", "/my models/a.onnx"),
        ("/models", "/other/a.onnx", "/other/a.onnx"),
        ("/models", "file:///other/a%20b.onnx", "/other/a b.onnx"),
        ("gs://bucket/models/", "a.onnx", "gs://bucket/models/a.onnx"),
        ("/models", "gs://bucket/a.onnx", "gs://bucket/a.onnx"),
        (None, "/a.onnx", "/a.onnx"),
    ],
)
def test_places(base: str | None, uri: str, expected: str) -> None:
    assert Files(base).resolve(uri) == expected


def readable(folder: pathlib.Path) -> Files:
    return Files(str(folder), readable=(str(folder),))


def problem_of(files: Files, uri: str) -> tuple[str, str]:
    with pytest.raises(FileProblem) as caught:
        files.check(uri)
    return caught.value.code, str(caught.value)


def test_a_file_that_is_there(tmp_path: pathlib.Path) -> None:
    (tmp_path / "a[1].onnx").write_bytes(b"x")
    assert readable(tmp_path).check("a[1].onnx") == str(tmp_path / "a[1].onnx")


def test_of_a_pattern_the_newest_match_is_meant(tmp_path: pathlib.Path) -> None:
    for name, seconds in (("line-1.pt", 30), ("line-2.pt", 20), ("line-3.pt", 10)):
        (tmp_path / name).write_bytes(b"x")
        os.utime(tmp_path / name, (seconds, seconds))
    assert readable(tmp_path).check("line-*.pt") == str(tmp_path / "line-1.pt")
    assert readable(tmp_path).check("line-[23].pt") == str(tmp_path / "line-2.pt")


def test_files_that_cannot_be_used(tmp_path: pathlib.Path) -> None:
    (tmp_path / "forest.joblib").write_bytes(b"x")
    files = Files(str(tmp_path), trusted=(str(tmp_path),))
    assert problem_of(files, "frost.joblib") == (
        "missing_file",
        f"there is no file '{tmp_path}/frost.joblib'; did you mean 'forest.joblib'?",
    )
    assert problem_of(readable(tmp_path), "frost.joblib")[1].endswith("frost.joblib'")
    assert problem_of(files, "models/a.joblib")[1].endswith(f"(nor the folder '{tmp_path}/models')")
    assert problem_of(files, ".")[0] == "unreadable_file"
    assert problem_of(files, "*.onnx") == ("missing_file", f"no file matches the pattern '{tmp_path}/*.onnx'")
    assert problem_of(files, "https://example.org/a.onnx")[0] == "untrusted_host"
    assert problem_of(Files(), "a.onnx")[0] == "relative_uri_without_base"
    remote = Files(str(tmp_path), shared=False, hosts=("gs://bucket",))
    assert problem_of(remote, "forest.joblib")[0] == "local_uri_on_remote_worker"
    assert remote.check("gs://bucket/forest.joblib") == "gs://bucket/forest.joblib"


def test_a_file_of_somebody_else(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.onnx"
    path.write_bytes(b"x")
    monkeypatch.setattr(os, "access", lambda *_: False)  # root may read every file
    assert problem_of(readable(tmp_path), str(path))[0] == "unreadable_file"


@pytest.mark.parametrize(
    ("trusted", "uri", "expected"),
    [
        ((), "/models/a.joblib", False),
        (("/models",), "/models/a.joblib", True),
        (("/models/",), "/models/deep/a.joblib", True),
        (("/models",), "/models-of-others/a.joblib", False),
        (("/models",), "/models/../etc/a.joblib", False),
        (("file:///models",), "/models/a.joblib", True),
        (("/",), "/models/a.joblib", True),
        (("/",), "gs://bucket/a.joblib", False),
        (("gs://bucket",), "gs://bucket/a.joblib", True),
        (("gs://bucket",), "gs://bucket-of-others/a.joblib", False),
    ],
)
def test_trust(trusted: tuple[str, ...], uri: str, expected: bool) -> None:
    assert Files(trusted=trusted).is_trusted(uri) is expected


def test_a_link_out_of_a_trusted_folder_is_not_trusted(tmp_path: pathlib.Path) -> None:
    (tmp_path / "trusted").mkdir()
    (tmp_path / "outside").write_bytes(b"x")
    (tmp_path / "trusted" / "link").symlink_to(tmp_path / "outside")
    assert not Files(trusted=(str(tmp_path / "trusted"),)).is_trusted(str(tmp_path / "trusted" / "link"))


def test_a_digest(tmp_path: pathlib.Path) -> None:
    content = b"x" * (3 << 20)
    (tmp_path / "a").write_bytes(content)
    assert sha256_of(str(tmp_path / "a")) == hashlib.sha256(content).hexdigest()


@pytest.mark.parametrize(
    ("uri", "path"),
    [("a/b", "a/b"), ("file://localhost/a", "/a"), ("file://host/a", None), ("s3://b/a", None)],
)
def test_local(uri: str, path: str | None) -> None:
    assert local_path(uri) == path


@pytest.mark.parametrize(
    ("hosts", "url", "allowed"),
    [
        (("models.example.com",), "https://models.example.com/a.onnx", True),
        (("models.example.com",), "https://models.example.com:8443/a.onnx", True),
        (("models.example.com",), "http://models.example.com/a.onnx", False),
        (("http://models.example.com:80",), "http://models.example.com:80/a.onnx", True),
        (("http://models.example.com:80",), "http://models.example.com:81/a.onnx", False),
        (("*.example.com",), "https://models.example.com/a.onnx", True),
        (("*.example.com",), "https://example.com.evil.org/a.onnx", False),
        (("good.org",), "https://good.org@evil.org/a.onnx", False),
        (("*",), "http://anywhere.org/a.onnx", True),
        (("*",), "http://anywhere/a.onnx", False),
        (("*", "http://anywhere"), "http://anywhere/a.onnx", True),
        ((), "grpc://triton:8001/dense", False),
        (("triton",), "grpc://triton:8001/dense", True),
    ],
)
def test_hosts(hosts: tuple[str, ...], url: str, allowed: bool) -> None:
    files = Files(hosts=hosts)
    if allowed:
        files.check_host(url)
        return
    with pytest.raises(FileProblem) as caught:
        files.check_host(url)
    assert caught.value.code == "untrusted_host"


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("torchvision.models.detection.maskrcnn_resnet50_fpn", None),
        ("our_team.models.Net", None),
        ("our_teams.Net", "untrusted_code"),
        ("os.system", "untrusted_code"),
        ("Net", "bad_name"),
        ("our_team.models.Net()", "bad_name"),
    ],
)
def test_code(name: str, code: str | None) -> None:
    files = Files(code=(*LIBRARY_CODE, "our_team.*"))
    if code is None:
        files.check_code(name)
        return
    with pytest.raises(FileProblem) as caught:
        files.check_code(name)
    assert caught.value.code == code


def test_the_digest_of_a_folder_is_what_the_shell_says(tmp_path: pathlib.Path) -> None:
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "x y").write_bytes(b"1")
    (tmp_path / "a.txt").write_bytes(b"2")
    command = r"find . -type f -printf '%P\0' | LC_ALL=C sort -z | xargs -0 sha256sum | sha256sum"
    shell = subprocess.run(["bash", "-c", command], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert sha256_of(str(tmp_path)) == shell.stdout.split()[0]
