"""An ensemble to a bundle: all that it names is in it, and the same bytes come of the same files."""

from __future__ import annotations

import hashlib
import os
import shutil
import sqlite3
import zipfile
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from beam_ensembles.bundles.opening import open_bundle
from beam_ensembles.bundles.packing import Packed, Packing, pack
from beam_ensembles.errors import WHOLE_FILE, EnsembleError, InvalidEnsemble
from beam_ensembles.files.ensemble_files import Files
from beam_ensembles.registry import KINDS
from beam_ensembles.runtime.loading import checked_with_warnings, graph_of_file
from tests.support.models import write_graph
from tests.support.web_server import content, web_server
from tests.unit.bundles.conftest import LABELS, Pack

TWICE = ("X", "FLOAT", ["N", 2]), ("Y", "FLOAT", ["N", 2])


def ensemble(uri: str, kind: str = "onnx") -> str:
    return f"""\
ensemble: models
inputs: {{x: "array<float>[2]"}}
nodes:
  one: {{model: {kind}, uri: "{uri}", inputs: {{X: x}}, outputs: {{y: {{from: Y, type: "array<float>[2]"}}}}}}
"""


def write_onnx(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    return write_graph(path, [("Add", ["X", "X"], ["Y"], {})], [TWICE[0]], [TWICE[1]])


def save_classifier(folder: Path) -> None:
    """Writes a folder as a model of transformers is saved; it is packed and checked here, and never loaded."""
    folder.mkdir(parents=True)
    (folder / "config.json").write_text('{"model_type": "bert", "id2label": {"0": "sad", "1": "glad"}}')
    (folder / "model.safetensors").write_bytes(b"weights")
    (folder / "vocab.txt").write_text("[UNK]\n")


def members(packed: Packed) -> list[str]:
    with zipfile.ZipFile(packed.path) as bundle:
        return bundle.namelist()


def test_the_same_files_give_the_same_bundle(originals: Path, pack_file: Pack, tmp_path: Path) -> None:
    first = pack_file(originals / "named.yaml")
    content = Path(first.path).read_bytes()
    elsewhere = tmp_path / "elsewhere"
    shutil.copytree(originals, elsewhere)
    for file in elsewhere.iterdir():
        os.utime(file, (1, 1))
        file.chmod(0o600)
    second = pack_file(elsewhere / "named.yaml", output=str(elsewhere))
    assert os.path.basename(first.path) == os.path.basename(second.path)
    assert Path(second.path).read_bytes() == content
    assert first.digest == hashlib.sha256(content).hexdigest()
    assert os.path.basename(first.path) == f"named-{first.digest[:12]}.ensemble.zip"
    assert members(first) == ["files/named.yaml", "files/names.txt", "manifest.json"]


def test_other_files_give_another_bundle(originals: Path, pack_file: Pack) -> None:
    first = pack_file(originals / "named.yaml")
    (originals / "names.txt").write_text("zero\ntwo\n")
    assert pack_file(originals / "named.yaml").digest != first.digest


def test_a_bundle_stands_for_its_ensemble_where_nothing_else_is(originals: Path, pack_file: Pack) -> None:
    packed = pack_file(originals / "named.yaml")
    shutil.rmtree(originals)
    graph = graph_of_file(packed.path)
    assert [node.spec.name for node in graph.nodes] == ["name"]
    assert Path(str(graph.nodes[0].uri)).read_text() == "zero\none\n"
    assert graph.nodes[0].is_trusted


def test_of_a_pattern_the_newest_match_is_packed(tmp_path: Path, pack_file: Pack) -> None:
    for at, name in enumerate(("a", "b", "old")):
        path = write_onnx(tmp_path / "models" / f"line-{name}.onnx")
        os.utime(path, (9 - at, 9 - at))
    (tmp_path / "models.yaml").write_text(ensemble("models/line-*.onnx"))
    packed = pack_file(tmp_path / "models.yaml")
    assert packed.manifest.places == {"models/line-*.onnx": "files/models/line-a.onnx"}
    assert graph_of_file(packed.path).nodes[0].uri.endswith("line-a.onnx")


def test_the_weights_beside_a_model_come_along(tmp_path: Path, pack_file: Pack) -> None:
    path = write_onnx(tmp_path / "m" / "big.onnx")
    model = onnx.load(path)
    weight = numpy_helper.from_array(np.zeros(2, np.float32), "w")
    model.graph.initializer.append(weight)
    model.graph.node[0].input[1] = "w"
    onnx.save(
        model,
        path,
        save_as_external_data=True,
        location="big.weights",
        size_threshold=0,
        convert_attribute=True,
    )
    (tmp_path / "models.yaml").write_text(ensemble("m/big.onnx"))
    packed = pack_file(tmp_path / "models.yaml")
    assert "files/m/big.weights" in members(packed)
    shutil.rmtree(tmp_path / "m")
    graph_of_file(packed.path)


def test_files_outside_of_the_folder_get_folders_of_their_own(tmp_path: Path, pack_file: Pack) -> None:
    for name in ("a", "b"):
        write_onnx(tmp_path / name / "same.onnx")
    inside = tmp_path / "inside"
    inside.mkdir()
    text = ensemble("../a/same.onnx") + ensemble(str(tmp_path / "b" / "same.onnx")).split("nodes:\n")[
        1
    ].replace("one", "two").replace("y:", "z:")
    (inside / "models.yaml").write_text(text)
    packed = pack_file(inside / "models.yaml")
    assert sorted(packed.manifest.places.values()) == ["others/1/same.onnx", "others/2/same.onnx"]
    graph_of_file(packed.path)


def test_parameters_are_kept_and_may_be_said_again(originals: Path, pack_file: Pack) -> None:
    (originals / "named.yaml").write_text(LABELS.replace("names.txt", '"${which}.txt"'))
    packed = pack_file(originals / "named.yaml", parameters={"which": "names"})
    assert graph_of_file(packed.path).nodes[0].spec.file == "names.txt"
    with pytest.raises(InvalidEnsemble) as refused:
        graph_of_file(packed.path, parameters={"which": "other"})
    (problem,) = refused.value.problems
    assert (problem.code, problem.path) == ("not_in_bundle", "nodes.name.file")
    assert "(it has: names.txt)" in problem.message


def test_a_bundle_does_not_keep_its_value_where_a_callers_name_is_wrong(
    originals: Path, pack_file: Pack
) -> None:
    (originals / "named.yaml").write_text(LABELS.replace("names.txt", '"${which}.txt"'))
    packed = pack_file(originals / "named.yaml", parameters={"which": "names"})
    with pytest.raises(InvalidEnsemble) as refused:
        graph_of_file(packed.path, parameters={"wich": "other"})
    (problem,) = refused.value.problems
    assert (problem.code, problem.path) == ("unknown_parameter", WHOLE_FILE)
    expected = "the bundle has no parameter 'wich'; did you mean 'which'? (it has: which)"
    assert problem.message == expected


def test_a_parameter_that_the_file_does_not_have_is_refused(
    originals: Path, pack_file: Pack, tmp_path: Path
) -> None:
    (originals / "named.yaml").write_text(LABELS.replace("names.txt", '"${which}.txt"'))
    with pytest.raises(EnsembleError) as refused:
        pack_file(originals / "named.yaml", parameters={"which": "names", "wich": "names"})
    assert "the file has no parameter 'wich'; did you mean 'which'? (it has: which)" in str(refused.value)
    (originals / "named.yaml").write_text(LABELS)
    with pytest.raises(EnsembleError, match=r"the file has no parameter 'x' \(it has: none\)"):
        pack_file(originals / "named.yaml", parameters={"x": "1"})
    assert not list(tmp_path.glob("*.zip"))


def test_a_bundle_reads_no_file_of_the_machine(tmp_path: Path, originals: Path, pack_file: Pack) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("one\ntwo\n")
    (originals / "named.yaml").write_text(LABELS.replace("names.txt", '"${which}"'))
    packed = pack_file(originals / "named.yaml", parameters={"which": "names.txt"})
    for which in (str(secret), f"file://{secret}", "../secret.txt", "../../manifest.json"):
        with pytest.raises(InvalidEnsemble) as refused:
            graph_of_file(packed.path, parameters={"which": which})
        assert [problem.code for problem in refused.value.problems] == ["not_in_bundle"]


def test_a_model_on_the_web_is_fetched_once_and_packed(tmp_path: Path, pack_file: Pack) -> None:
    write_onnx(tmp_path / "web" / "m.onnx")
    model = (tmp_path / "web" / "m.onnx").read_bytes()
    with web_server({"/m.onnx": content(model)}) as server:
        address = server.url
        (tmp_path / "models.yaml").write_text(ensemble(f"{address}/m.onnx"))
        packed = pack_file(tmp_path / "models.yaml")
        left = pack_file(tmp_path / "models.yaml", leave_remote=True)
    assert packed.manifest.places == {f"{address}/m.onnx": "others/1/m.onnx"}
    assert packed.left == {}
    graph = graph_of_file(packed.path)
    assert Path(str(graph.nodes[0].uri)).is_file()
    assert left.left == {"one": f"{address}/m.onnx"}
    assert left.manifest.places == {}


def test_what_cannot_be_fetched_is_named(tmp_path: Path, pack_file: Pack) -> None:
    with web_server({}) as server:
        address = server.url
        (tmp_path / "models.yaml").write_text(ensemble(f"{address}/none.onnx"))
        with pytest.raises(EnsembleError, match=r"/none.onnx' cannot be fetched: .*404"):
            pack_file(tmp_path / "models.yaml")


def test_a_fetched_model_is_checked_before_it_is_packed(tmp_path: Path, pack_file: Pack) -> None:
    write_onnx(tmp_path / "web" / "m.onnx")
    model = (tmp_path / "web" / "m.onnx").read_bytes()
    with web_server({"/m.onnx": content(model)}) as server:
        address = server.url
        (tmp_path / "models.yaml").write_text(ensemble(f"{address}/m.onnx").replace("from: Y", "from: Z"))
        with pytest.raises(InvalidEnsemble, match="unknown_port"):
            pack_file(tmp_path / "models.yaml")


def test_the_database_of_a_lookup_comes_along(tmp_path: Path, pack_file: Pack) -> None:
    database = tmp_path / "data" / "towns.db"
    database.parent.mkdir()
    with sqlite3.connect(database) as connection:
        connection.execute("create table towns (id integer primary key, name text)")
    connection.close()
    text = """\
ensemble: towns
inputs: {id: int64}
nodes:
  town: {apply: lookup, url: "sqlite:///data/towns.db", table: towns, key: {id: id}, outputs: {name: string}}
"""
    (tmp_path / "towns.yaml").write_text(text)
    packed = pack_file(tmp_path / "towns.yaml")
    assert packed.manifest.places == {"data/towns.db": "files/data/towns.db"}
    with sqlite3.connect(database) as connection:
        connection.execute("pragma journal_mode=wal")
    connection.close()
    with pytest.raises(EnsembleError, match="journal_mode=DELETE"):
        pack_file(tmp_path / "towns.yaml")


def test_folders_are_packed_whole_and_links_to_folders_refused(tmp_path: Path, pack_file: Pack) -> None:
    save_classifier(tmp_path / "mood")
    text = """\
ensemble: moods
inputs: {text: string}
nodes:
  mood: {model: huggingface, task: text-classification, uri: mood, inputs: [text], outputs: {mood: {from: label}}}
"""
    (tmp_path / "moods.yaml").write_text(text)
    packed = pack_file(tmp_path / "moods.yaml")
    assert packed.manifest.places == {"mood": "files/mood"}
    assert "files/mood/config.json" in members(packed)
    shutil.move(tmp_path / "mood", tmp_path / "gone")
    graph_of_file(packed.path)
    shutil.move(tmp_path / "gone", tmp_path / "mood")
    (tmp_path / "mood" / "loop").symlink_to(tmp_path)
    with pytest.raises(EnsembleError, match="is a link to a folder"):
        pack_file(tmp_path / "moods.yaml")


def test_a_model_of_the_hub_comes_from_the_cache(
    tmp_path: Path, pack_file: Pack, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub = tmp_path / "hub"
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(hub))
    commit = "0123456789abcdef0123456789abcdef01234567"
    kept = hub / "models--acme--mood"
    save_classifier(tmp_path / "mood")
    (kept / "blobs").mkdir(parents=True)
    (kept / "snapshots" / commit).mkdir(parents=True)
    (kept / "refs").mkdir()
    (kept / "refs" / "main").write_text(commit)
    for number, file in enumerate(sorted((tmp_path / "mood").iterdir())):
        shutil.copy(file, kept / "blobs" / str(number))
        (kept / "snapshots" / commit / file.name).symlink_to(kept / "blobs" / str(number))
    text = """\
ensemble: moods
inputs: {text: string}
nodes:
  mood:
    model: huggingface
    task: text-classification
    uri: hf:acme/NAME
    revision: main
    inputs: [text]
    outputs: {mood: {from: label}}
"""
    (tmp_path / "moods.yaml").write_text(text.replace("NAME", "mood"))
    packed = pack_file(tmp_path / "moods.yaml")
    assert packed.manifest.places == {"hf:acme/mood": f"others/1/{commit}"}
    shutil.rmtree(hub)
    strict = Files(trusted=(str(tmp_path),))  # no host is allowed, and none is needed
    opened = open_bundle(packed.path, strict)
    graph = checked_with_warnings(opened.text, opened.files, opened.parameters)
    assert Path(str(graph.nodes[0].uri), "config.json").is_file()
    (tmp_path / "moods.yaml").write_text(text.replace("NAME", "none"))
    with pytest.raises(
        EnsembleError, match=r"'hf:acme/none' of revision 'main' is not in this machine's cache"
    ):
        pack_file(tmp_path / "moods.yaml")


def test_servers_and_secrets_stay_where_they_are(
    tmp_path: Path, pack_file: Pack, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOWNS", "postgresql+psycopg://me:s3cret@localhost/towns")
    text = """\
ensemble: towns
inputs: {id: int64, x: double}
nodes:
  town: {apply: lookup, url: {secret: "env:TOWNS"}, table: towns, key: {id: id}, outputs: {name: string}}
  dense: {model: open_inference, uri: "grpc://localhost:1/dense", inputs: {a: x}, outputs: {y: double}}
"""
    (tmp_path / "towns.yaml").write_text(text)
    packed = pack_file(tmp_path / "towns.yaml")
    assert packed.left == {"dense": "grpc://localhost:1/dense"}
    assert b"s3cret" not in Path(packed.path).read_bytes()
    assert packed.manifest.places == {}


def test_a_wrong_ensemble_is_not_packed(originals: Path, pack_file: Pack, tmp_path: Path) -> None:
    (originals / "names.txt").unlink()
    with pytest.raises(InvalidEnsemble, match="missing_file"):
        pack_file(originals / "named.yaml")
    assert not list(tmp_path.glob("*.zip"))
    assert not list(tmp_path.glob(".packing.*"))


def test_a_file_that_changes_meanwhile_is_noticed(originals: Path, tmp_path: Path) -> None:
    path = originals / "names.txt"
    path.write_text("name\n" * 1_000_000)

    def show(doing: str, *_: object) -> None:
        if doing == "packing":
            with path.open("a") as file:
                file.write("more\n")

    packing = Packing(
        file=str(originals / "named.yaml"),
        files=Files(str(originals), (str(originals),)),
        output=str(tmp_path),
    )
    with pytest.raises(EnsembleError, match="changed while it was packed"):
        pack(packing, KINDS, show)
    assert not list(tmp_path.glob("*.zip"))


def test_the_output_may_be_named(originals: Path, pack_file: Pack, tmp_path: Path) -> None:
    packed = pack_file(originals / "named.yaml", output=str(tmp_path / "mine.ensemble.zip"))
    assert packed.path == str(tmp_path / "mine.ensemble.zip")
    graph_of_file(packed.path)
    assert (tmp_path / "mine.ensemble.zip").stat().st_mode & 0o444 == 0o444


def test_requirements_are_read_as_utf_8_with_or_without_its_mark(
    originals: Path, pack_file: Pack, tmp_path: Path
) -> None:
    needs = tmp_path / "needs.txt"
    needs.write_text("numpy>=1\n", encoding="utf-8-sig")
    packed = pack_file(originals / "named.yaml", requirements=str(needs))
    assert packed.manifest.requirements == ("numpy>=1",)
    needs.write_text("numpy>=1\n", encoding="utf-16")
    with pytest.raises(EnsembleError, match=r"needs\.txt' is not UTF-8 text; save it as UTF-8$"):
        pack_file(originals / "named.yaml", requirements=str(needs))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a; " + "(" * 20_000 + "python_version>'3'" + ")" * 20_000, r"line 1: 'a; \(\("),
        ("numpy\na" + ",".join([">=1"] * 100_000), r"line 2: 'a>=1,>=1"),
        ("\n".join(f"a{at}" for at in range(1_001)), "has 1001 requirements; 1000 is the most"),
        ("-r other.txt", "line 1: '-r other.txt' is not a requirement"),
    ],
)
def test_requirements_that_no_bundle_may_have(
    text: str, said: str, originals: Path, pack_file: Pack, tmp_path: Path
) -> None:
    needs = tmp_path / "needs.txt"
    needs.write_text(text)
    with pytest.raises(EnsembleError, match=said) as raised:
        pack_file(originals / "named.yaml", requirements=str(needs))
    assert len(str(raised.value)) < 500
