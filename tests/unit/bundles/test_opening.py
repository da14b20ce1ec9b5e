"""Who may open a bundle, what is trusted in it, and how a worker finds it again."""

from __future__ import annotations

import dataclasses
import os
import pickle
import threading
import time
from pathlib import Path

import joblib
import pytest
from sklearn.linear_model import LinearRegression

from beam_ensembles.bundles import opening
from beam_ensembles.bundles.file_names import is_bundle
from beam_ensembles.bundles.opening import open_bundle
from beam_ensembles.bundles.packing import Packed
from beam_ensembles.bundles.store import VARIABLE
from beam_ensembles.bundles.worker_bundles import find_bundle, with_bundles_at_hand
from beam_ensembles.errors import InvalidEnsemble
from beam_ensembles.execution.files_digest import digest_of
from beam_ensembles.files.ensemble_files import Files
from beam_ensembles.graph import EnsembleGraph, check_text
from beam_ensembles.registry import KINDS
from beam_ensembles.runtime.ensemble_text import read_uri
from beam_ensembles.runtime.loading import graph_of_file
from beam_ensembles.transforms import RunEnsemble
from tests.support.web_server import content, web_server
from tests.unit.bundles.conftest import Pack

PICKLED = """\
ensemble: pickled
inputs: {x: double}
nodes:
  line: {model: sklearn, uri: line.joblib, inputs: [x], outputs: {y: double}}
"""


@pytest.fixture
def packed(tmp_path: Path, pack_file: Pack) -> Packed:
    folder = tmp_path / "pickled"
    folder.mkdir()
    joblib.dump(LinearRegression().fit([[1.0], [2.0]], [1.0, 2.0]), folder / "line.joblib")
    (folder / "pickled.yaml").write_text(PICKLED)
    return pack_file(folder / "pickled.yaml")


def graph_of(packed: Packed, **files: object) -> EnsembleGraph:
    opened = open_bundle(packed.path, Files(**files))  # type: ignore[arg-type]
    return check_text(opened.text, KINDS, opened.files)


def code_of(packed: Packed, **files: object) -> str:
    with pytest.raises(InvalidEnsemble) as refused:
        graph_of(packed, **files)
    (problem,) = refused.value.problems
    return problem.code


def test_pickles_in_a_bundle_are_as_untrusted_as_any(packed: Packed, tmp_path: Path, cache: Path) -> None:
    assert code_of(packed) == "untrusted_file"
    assert code_of(packed, trusted=(str(tmp_path / "elsewhere"),)) == "untrusted_file"
    assert graph_of(packed, trusted=(f"bundle:{packed.digest}",)).nodes[0].is_trusted
    assert graph_of(packed, trusted=(str(tmp_path),)).nodes[0].is_trusted


def test_a_bundle_that_was_written_over_is_another(packed: Packed) -> None:
    """Its size and times may be what they were."""
    trusted = {"trusted": (f"bundle:{packed.digest}",)}
    graph_of(packed, **trusted)
    before, data = os.stat(packed.path), Path(packed.path).read_bytes()
    with open(packed.path, "r+b") as file:
        file.write(data.replace(b"ensemble: pickled", b"ensemble: changed", 1))
    os.utime(packed.path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert code_of(packed, **trusted) == "bad_bundle"


def test_a_bundle_below_a_trusted_folder_is_not_trusted_for_where_it_was_unpacked(
    packed: Packed, cache: Path
) -> None:
    """A stranger's bundle is unpacked to this user's cache, which the user may trust as a part of the home."""
    assert code_of(packed, trusted=(str(cache.parent),)) == "untrusted_file"
    (model,) = cache.glob("*.unpacked/files/line.joblib")
    with pytest.raises(InvalidEnsemble, match="untrusted_file"):
        check_text(PICKLED.replace("line.joblib", str(model)), KINDS, Files(trusted=(str(cache.parent),)))


def test_workers_that_share_no_files_get_those_of_a_bundle(packed: Packed, tmp_path: Path) -> None:
    assert graph_of(packed, trusted=(str(tmp_path),), shared=False).nodes


@pytest.mark.parametrize("name", ["none.ensemble.zip", "folder.ensemble.zip", "text.ensemble.zip"])
def test_what_is_no_bundle_is_said_in_one_sentence(name: str, tmp_path: Path) -> None:
    (tmp_path / "folder.ensemble.zip").mkdir()
    (tmp_path / "text.ensemble.zip").write_text("ensemble: e\n")
    with pytest.raises(InvalidEnsemble) as refused:
        open_bundle(str(tmp_path / name), Files())
    (problem,) = refused.value.problems
    assert problem.code in ("bad_bundle", "unreadable_file")
    assert name in problem.message


def test_a_bundle_that_was_renamed_is_staged_under_a_name_of_its_own(packed: Packed, tmp_path: Path) -> None:
    os.rename(packed.path, tmp_path / "mine.ensemble.zip")
    opened = open_bundle(str(tmp_path / "mine.ensemble.zip"), Files())
    assert opened.files.bundle is not None
    assert opened.files.bundle.name == f"pickled-{packed.digest[:12]}.ensemble.zip"


def test_a_bundle_on_the_web_needs_its_host_allowed(packed: Packed, cache: Path) -> None:
    data = Path(packed.path).read_bytes()
    with web_server({"/b.ensemble.zip": content(data)}) as server:
        place = f"{server.url}/b.ensemble.zip"
        with pytest.raises(InvalidEnsemble, match="untrusted_host"):
            open_bundle(place, Files())
        opened = open_bundle(place, Files(hosts=(server.url,)))
        assert server.asked == ["/b.ensemble.zip"]
    bundle = opened.files.bundle
    assert bundle is not None
    assert not bundle.is_trusted
    assert Path(bundle.archive).read_bytes() == data
    assert Path(bundle.archive).parent == cache


def test_a_folder_that_cannot_be_used_is_said_as_any_problem(
    packed: Packed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o777)
    monkeypatch.setenv(VARIABLE, str(shared))
    with pytest.raises(InvalidEnsemble, match=r"unreadable_file.* cannot be unpacked: others can replace"):
        open_bundle(packed.path, Files())


def test_a_web_address_of_a_bundle_may_go_on_after_its_name(packed: Packed) -> None:
    name = os.path.basename(packed.path)
    assert is_bundle(f"HTTPS://example.com/{name}#x")
    assert not is_bundle(f"https://example.com/get?file={name}")
    assert not is_bundle(f"/tmp/{name}?signature=1")
    with web_server({f"/{name}?signature=1/2": content(Path(packed.path).read_bytes())}) as server:
        place = f"{server.url}/{name}?signature=1/2"
        assert is_bundle(place)
        opened = open_bundle(place, Files(hosts=(server.url,)))
    assert opened.files.bundle is not None
    assert opened.files.bundle.name == name


def test_a_bundle_of_another_name_is_known_for_what_it_may_be(packed: Packed, tmp_path: Path) -> None:
    place = tmp_path / "bundle.yaml"
    os.rename(packed.path, place)
    for read in (lambda: graph_of_file(place), lambda: read_uri(str(place), Files(trusted=(str(tmp_path),)))):
        with pytest.raises(InvalidEnsemble, match=r"syntax.*is a zip.* must end in \.ensemble\.zip"):
            read()


def test_what_is_refused_of_the_web_does_not_stay(
    originals: Path, packed: Packed, pack_file: Pack, cache: Path
) -> None:
    (originals / "words.py").write_text("")
    with_code = pack_file(originals / "named.yaml", code=[str(originals / "words.py")])
    changed = Path(packed.path).read_bytes().replace(b"ensemble: pickled", b"ensemble: changed", 1)
    answers = {"/code": Path(with_code.path).read_bytes(), "/junk": b"x" * 1_000, "/changed": changed}
    said = {"/code": "untrusted_code", "/junk": "bad_bundle", "/changed": "bad_bundle"}
    served = {f"{path}.ensemble.zip": content(data) for path, data in answers.items()}
    with web_server(served) as server:
        for path, code in said.items():
            with pytest.raises(InvalidEnsemble) as refused:
                open_bundle(f"{server.url}{path}.ensemble.zip", Files(hosts=(server.url,)))
            assert refused.value.problems[0].code == code
    assert list(cache.iterdir()) == []


def test_no_more_is_fetched_from_a_stranger_than_a_limit(
    packed: Packed, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = Path(packed.path).read_bytes()
    monkeypatch.setattr(opening, "_MOST_BYTES_OF_UNTRUSTED", len(data) - 1)
    with web_server({"/b.ensemble.zip": content(data)}) as server:
        place = f"{server.url}/b.ensemble.zip"
        with pytest.raises(InvalidEnsemble, match=r"unreadable_file.* is too large"):
            open_bundle(place, Files(hosts=(server.url,)))
        assert open_bundle(place, Files(hosts=(server.url,), trusted=(server.url,))).text


def test_a_place_that_does_not_answer_is_said(packed: Packed) -> None:
    with web_server({}) as server, pytest.raises(InvalidEnsemble, match=r"unreadable_file.*404"):
        open_bundle(f"{server.url}/b.ensemble.zip", Files(hosts=(server.url,)))


def test_the_digest_of_an_ensemble_is_that_of_its_bundle_wherever_it_is_unpacked(
    packed: Packed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = digest_of(graph_of(packed, trusted=(str(tmp_path),)))
    monkeypatch.setenv(VARIABLE, str(tmp_path / "another"))
    assert digest_of(graph_of(packed, trusted=(str(tmp_path),))) == first


def test_a_worker_finds_what_its_runner_staged(
    packed: Packed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nodes = pickle.dumps(graph_of(packed, trusted=(str(tmp_path),)).nodes)
    monkeypatch.setenv(VARIABLE, str(tmp_path / "worker"))
    monkeypatch.setenv("SEMI_PERSISTENT_DIRECTORY", str(tmp_path / "semi"))
    (tmp_path / "semi" / "staged").mkdir(parents=True)
    os.rename(packed.path, tmp_path / "semi" / "staged" / os.path.basename(packed.path))
    (node,) = with_bundles_at_hand(pickle.loads(nodes))
    assert str(node.uri).startswith(str(tmp_path / "worker"))
    assert joblib.load(node.uri).predict([[1.0]])
    assert node.files.resolve("line.joblib") == node.uri


def test_a_worker_without_the_bundle_says_what_it_lacks(
    packed: Packed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nodes = graph_of(packed, trusted=(str(tmp_path),)).nodes
    monkeypatch.setenv(VARIABLE, str(tmp_path / "worker"))
    os.unlink(packed.path)
    with pytest.raises(InvalidEnsemble) as refused:
        with_bundles_at_hand(nodes)
    (problem,) = refused.value.problems
    assert problem.code == "missing_bundle"
    assert packed.digest in problem.message


def test_a_worker_refuses_what_is_not_what_was_packed(
    packed: Packed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nodes = graph_of(packed, trusted=(str(tmp_path),)).nodes
    monkeypatch.setenv(VARIABLE, str(tmp_path / "worker"))
    data = Path(packed.path).read_bytes()
    Path(packed.path).write_bytes(data[:-1] + b"\1")
    with pytest.raises(InvalidEnsemble) as refused:
        with_bundles_at_hand(nodes)
    (problem,) = refused.value.problems
    assert problem.code == "bad_bundle"
    assert f"the pipeline was made with {packed.digest}" in problem.message


def test_a_worker_waits_for_a_file_that_is_being_fetched(
    packed: Packed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, str(tmp_path / "worker"))
    data = Path(packed.path).read_bytes()
    growing = tmp_path / "growing.ensemble.zip"
    growing.write_bytes(data[:100])

    def grow() -> None:
        time.sleep(0.3)
        with growing.open("ab") as file:
            file.write(data[100:])

    thread = threading.Thread(target=grow)
    thread.start()
    found = find_bundle(packed.digest, "other.ensemble.zip", len(data), str(growing))
    thread.join()
    assert Path(found, "files", "line.joblib").is_file()


def test_a_bundle_never_changes_so_that_nothing_can_be_refreshed(packed: Packed) -> None:
    with pytest.raises(InvalidEnsemble) as refused:
        RunEnsemble(packed.path, refresh_interval_secs=1)
    assert refused.value.problems[0].path == "refresh_interval_secs"


def test_nodes_without_a_bundle_stay_as_they_are(tmp_path: Path, packed: Packed) -> None:
    (node,) = graph_of(packed, trusted=(str(tmp_path),)).nodes
    plain = dataclasses.replace(node, files=Files())
    assert with_bundles_at_hand([plain]) == (plain,)
