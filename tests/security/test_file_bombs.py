"""Small files that stand for gigabytes or hours: each gets one sentence, soon, and little memory."""

from __future__ import annotations

import contextlib
import functools
import io
import itertools
import json
import os
import resource
import struct
import subprocess
import sys
import time
import tracemalloc
import zipfile
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import skops.io
import soundfile
from PIL import Image
from sklearn.linear_model import LogisticRegression

from beam_ensembles.bundles.archive import read_archive
from beam_ensembles.bundles.manifest import BadBundle
from beam_ensembles.bundles.pickled_names import names_in
from beam_ensembles.errors import (
    ModelFormatError,
    NodeError,
    SomeFailed,
    TooLargeTogether,
)
from beam_ensembles.execution.bisecting import run_split
from beam_ensembles.files import archives
from beam_ensembles.files.bounded_json import load_json
from beam_ensembles.functions import audio
from beam_ensembles.graph.kinds import Columns
from beam_ensembles.handlers.huggingface import pipelines
from beam_ensembles.handlers.huggingface.media import read_images
from beam_ensembles.handlers.pytorch.export import read_program
from beam_ensembles.handlers.pytorch.files import format_of
from beam_ensembles.handlers.sklearn.skops_header import check_sizes_of, read_header
from beam_ensembles.handlers.support.image_files import decode_image
from beam_ensembles.handlers.support.model_formats import recognized
from beam_ensembles.handlers.support.sound_files import decode_sound
from beam_ensembles.handlers.tensorflow.keras import read_keras
from beam_ensembles.handlers.tensorflow.weights import check_weights
from beam_ensembles.handlers.xgboost import document
from beam_ensembles.handlers.xgboost.trees import TreeError, check_model
from beam_ensembles.limits import LARGEST_JSON, MOST_ARRAY_VALUES, SAMPLES_AT_ONCE
from beam_ensembles.tables.parquet_files import ParquetReader
from tests.support.patience import SECONDS

_MOST_BYTES: Final = 2 << 30
_PEAK: Final = 1_000_000_000
"""Bytes that a verb may take at its peak; the attacks took two gigabytes and more."""
_CPU_SECONDS: Final = 150
"""Seconds of a core that a process may take: no attack leaves it waiting."""
_VERB: Final = r"""
import re, sys
from pathlib import Path
from beam_ensembles.cli.main import main
code = main(sys.argv[1:])
print(int(re.search(r"VmHWM:\s*(\d+)", Path("/proc/self/status").read_text())[1]) << 10, file=sys.stderr)
sys.exit(code)
"""


def verb(*arguments: str, most_bytes: int = _MOST_BYTES) -> tuple[subprocess.CompletedProcess[str], int]:
    """Runs a verb in a process that may not take much; gives what it said and its peak of memory."""

    def bound() -> None:
        resource.setrlimit(resource.RLIMIT_DATA, (most_bytes, most_bytes))
        resource.setrlimit(resource.RLIMIT_CPU, (_CPU_SECONDS, _CPU_SECONDS))

    answer = subprocess.run(
        [sys.executable, "-c", _VERB, *arguments],
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
        preexec_fn=bound,
    )
    assert "Traceback" not in answer.stderr, answer.stderr[-2000:]
    assert answer.returncode == 1, (answer.returncode, answer.stdout[-1000:], answer.stderr[-1000:])
    *said, peak = answer.stderr.splitlines()
    answer.stderr = "\n".join(said)
    return answer, int(peak)


def validated(folder: Path, nodes: dict[str, dict[str, Any]], most_bytes: int = _MOST_BYTES) -> set[str]:
    """Validates an ensemble; gives the nodes whose model file is called bad."""
    for name, node in nodes.items():
        text = node["model"] == "huggingface"
        node["inputs"] = ["t" if text else "x"]
        node["outputs"] = {
            f"{name}_{port}": {"from": port, "type": type_} for port, type_ in node["outputs"].items()
        }
    path = folder / "e.yaml"
    inputs = {"x": "array<float>[1]", "t": "string"}
    path.write_text(json.dumps({"ensemble": "e", "inputs": inputs, "nodes": nodes}))
    answer, peak = verb("validate", str(path), "--json", most_bytes=most_bytes)
    assert peak < _PEAK, peak
    found = json.loads(answer.stdout)["problems"]
    assert all(len(one["message"]) < 1_000 for one in found)
    return {one["path"].split(".")[1] for one in found if one["code"] == "bad_model_file"}


# skops


@functools.cache
def _skops() -> bytes:
    data: bytes = skops.io.dumps(LogisticRegression().fit(np.arange(4.0)[:, None], [0, 0, 1, 1]))
    return data


def with_part(name: str, content: bytes) -> bytes:
    """A skops file with another ``schema.json`` or other ``classes_``."""
    found = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(_skops())) as old,
        zipfile.ZipFile(found, "w", zipfile.ZIP_DEFLATED) as new,
    ):
        classes = json.loads(old.read("schema.json"))["content"]["content"]["classes_"]["file"]
        for one in old.namelist():
            is_it = one == (classes if name == "classes_" else name)
            new.writestr(one, content if is_it else old.read(one))
    return found.getvalue()


def npy(header: str, content: bytes = b"") -> bytes:
    """A file of an array with any header."""
    text = header.encode() + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + content


def _shape(kind: str, shape: str) -> bytes:
    return npy(f"{{'descr':{kind},'fortran_order':False,'shape':{shape}}}")


ARRAYS: Final = {
    "no bytes": _shape("'|S0'", "(100000000,)"),
    "void": _shape("'|V0'", "(100000000,)"),
    "missing bytes": _shape("'<i8'", "(1152921504606846000,)"),
    "a terabyte": _shape("'|S0'", "(1000000000000,)"),
    "large items": _shape("[('a','<i8',(100000,100000))]", "(1,)"),
    "negative": _shape("'<i8'", "(-1,)"),
    "half a token": npy("{'a': ("),
    "deep": npy("(" * 95 + ")" * 95),
    "indented": npy("\t{'descr':'<i8'\n  1\n 2"),
}


def test_an_array_of_a_skops_file_is_not_believed(tmp_path: Path) -> None:
    """``np.load`` believes the shape, and ``tolist`` makes an object an item, also of items of no bytes."""
    nodes = {}
    for at, array in enumerate(ARRAYS.values()):
        path = tmp_path / f"m{at}.skops"
        path.write_bytes(with_part("classes_", array))
        nodes[f"n{at}"] = {"model": "sklearn", "uri": str(path), "outputs": {"y": "int64"}}
    assert validated(tmp_path, nodes) == set(nodes)


def test_texts_of_json_in_a_skops_file_are_values_alone(tmp_path: Path) -> None:
    """An array may be kept as texts of JSON, each of which could be a document of its own."""
    schema = json.loads(zipfile.ZipFile(io.BytesIO(_skops())).read("schema.json"))
    part = schema["content"]["content"]["classes_"]
    lists = "[" + "[]," * 100_000 + "[]]"
    part.update({"type": "json", "content": [{"content": lists}] * 3})
    (tmp_path / "m.skops").write_bytes(with_part("schema.json", json.dumps(schema).encode()))
    with pytest.raises(ModelFormatError):
        read_header(str(tmp_path / "m.skops"))


def with_objects(objects: Any, parts: Mapping[str, bytes]) -> bytes:
    """A skops file whose model has further attributes, and further parts."""
    schema = json.loads(zipfile.ZipFile(io.BytesIO(_skops())).read("schema.json"))
    attributes = schema["content"]
    attributes["content"]["more"] = objects
    attributes["key_types"]["content"].append(attributes["key_types"]["content"][0])
    file = io.BytesIO(with_part("schema.json", json.dumps(schema).encode()))
    with zipfile.ZipFile(file, "a", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return file.getvalue()


def _list(items: Sequence[Any], **said: Any) -> dict[str, Any]:
    return {"__class__": "list", "__module__": "builtins", "__loader__": "ListNode", "content": items, **said}


def _array(name: str, **said: Any) -> dict[str, Any]:
    is_array = {"__class__": "ndarray", "__module__": "numpy", "__loader__": "NdArrayNode", "type": "numpy"}
    return {**is_array, "file": name, **said}


_ONE: Final = {"__class__": "int", "__module__": "builtins", "__loader__": "JsonNode", "content": "1"}
_SQUARE: Final = {
    "__class__": "tuple",
    "__module__": "builtins",
    "__loader__": "TupleNode",
    "content": [_ONE, _ONE],
}


def _of_objects(items: Sequence[Any]) -> dict[str, Any]:
    return {**_array(""), "file": None, "type": "json", "content": items, "shape": _SQUARE}


def _laughs(depth: int, node: dict[str, Any]) -> dict[str, Any]:
    """A list of ten times the same list of ten times the same list."""
    for level in range(1, depth + 1):
        node = _list([{**node, "__id__": level}, *[{"__id__": level}] * 9])
    return node


_MEGABYTE: Final = {"a.npy": npy("{'descr':'<f8','fortran_order':False,'shape':(131072,)}", bytes(1 << 20))}
_BYTES: Final = {
    "__class__": "bytearray",
    "__module__": "builtins",
    "__loader__": "BytearrayNode",
    "file": "a.npy",
}
OBJECTS: Final[dict[str, tuple[Any, Mapping[str, bytes], str]]] = {
    "a part that many arrays name": (_list([_array("a.npy")] * 5_000), _MEGABYTE, "would unpack to"),
    "a list of lists of lists": (_laughs(40, _list([])), {}, "different objects of the same"),
    "an array of lists of lists": (_of_objects([_laughs(9, _ONE)]), {}, "different objects of the same"),
    "a list in itself": (_list([{"__id__": 7}], __id__=7), {}, "different objects of the same"),
    "arrays in an array of objects": (
        _of_objects([_array("a.npy", __id__=7)] * 500), _MEGABYTE, "would unpack to"
    ),
    "a small array in the place of a large one": (
        _list([_array("a.npy", __id__=7), _array("b.npy", __id__=7)]),
        {**_MEGABYTE, "b.npy": npy("{'descr':'<f8','fortran_order':False,'shape':()}", bytes(8))},
        "different objects of the same",
    ),
    "a long text in the place of a short one": (
        _list([{**_ONE, "__id__": 7}, {**_ONE, "content": "[1,1,1]", "__id__": 7}]), {}, "different objects of the same"
    ),
    "numbers of bytes": (_list([_BYTES] * 100), _MEGABYTE, "would unpack to"),
    "a length for bytes": (
        {**_array("a.npy"), "__class__": "bytes_"},
        {"a.npy": npy("{'descr':'<i8','fortran_order':False,'shape':()}", struct.pack("<q", 10**9))},
        "a 'bytes_' of the file is kept as int64",
    ),
    "items of no bytes": (_array("a.npy"), {"a.npy": ARRAYS["no bytes"]}, "holds values of the type"),
    "missing bytes": (_array("a.npy"), {"a.npy": ARRAYS["missing bytes"]}, "fewer bytes than its shape"),
}  # fmt: skip


@pytest.mark.parametrize("attack", list(OBJECTS))
def test_objects_of_a_skops_file_are_counted_before_they_are_made(tmp_path: Path, attack: str) -> None:
    """skops makes an object of each mention of a part, and of an ``__id__`` whatever was first said of it."""
    objects, parts, said = OBJECTS[attack]
    data = with_objects(objects, parts)
    assert len(data) < 100_000
    (tmp_path / "m.skops").write_bytes(data)
    with pytest.raises(ModelFormatError, match=said):
        read_header(str(tmp_path / "m.skops"))


def test_a_skops_file_that_repeats_its_objects_is_read(tmp_path: Path) -> None:
    shared = np.arange(10.0)
    model = LogisticRegression().fit(np.arange(4.0)[:, None], [0, 0, 1, 1])
    model.more = [shared, {"a": shared, "b": [shared, np.array([[1, "x"], [None, shared[0]]], object)]}]
    skops.io.dump(model, tmp_path / "m.skops")
    assert read_header(str(tmp_path / "m.skops")).untrusted == ()


def _said_to_be(data: bytes, name: str, size: int) -> bytes:
    """An archive whose directory says another size of a member."""
    found = bytearray(data)
    at = found.rindex(b"PK\1\2", 0, found.rindex(name.encode()))
    struct.pack_into("<I", found, at + 24, size)
    return bytes(found)


def test_a_part_is_not_longer_than_the_archive_says(tmp_path: Path) -> None:
    """``zipfile`` unpacks up to 2 GiB of it before it cuts that to the size that the directory says."""
    path = tmp_path / "m.skops"
    path.write_bytes(_said_to_be(with_objects(_array("a.npy"), _MEGABYTE), "a.npy", 1_000))
    with pytest.raises(ModelFormatError, match=r"'a\.npy' is longer than its directory says"):
        check_sizes_of(str(path))


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
@pytest.mark.parametrize(
    ("name", "read"),
    [
        ("schema.json", read_header),
        ("config.json", read_keras),
        ("m/models/model.json", read_program),
        ("m/data.pkl", lambda path: format_of(path, has_class=True)),
    ],
)
def test_members_of_archives_are_deflated_or_stored(
    tmp_path: Path, name: str, read: Callable[[str], object], method: int
) -> None:
    """``zipfile`` unpacks a block of another method as a whole: 1 kB became 2 GiB in the service."""
    path = tmp_path / "m.zip"
    with zipfile.ZipFile(path, "w", method) as archive:
        archive.writestr(name, " " * (1 << 24))
    tracemalloc.start()
    try:
        with pytest.raises(ModelFormatError, match="by another method than deflate"):
            read(str(path))
        assert tracemalloc.get_traced_memory()[1] < 4 << 20
    finally:
        tracemalloc.stop()


# Documents


def _lists(size: int) -> bytes:
    return b"[" + b"[[[[[[]]]]]]," * (size // 13) + b"[]]"


def _objects(size: int) -> bytes:
    return b"[" + b'{"a":0},' * (size // 8) + b"0]"


def _keys(size: int) -> bytes:
    return b"{" + b",".join(b'"%x":0' % at for at in range(size // 9)) + b"}"


DOCUMENTS: Final[dict[str, Callable[[int], bytes]]] = {"lists": _lists, "objects": _objects, "keys": _keys}
SIZE: Final = 40_000_000
UNREADABLE: Final = [b"[" * 200_000, b'{"a":' * 200_000, b"[" * 960 + b"]" * 960, b'"\xff"', b"1" * 5000]


def _skops_of(folder: Path, document: bytes) -> dict[str, Any]:
    (folder / "m.skops").write_bytes(with_part("schema.json", document))
    return {"model": "sklearn", "uri": str(folder / "m.skops"), "outputs": {"y": "int64"}}


def _keras_of(folder: Path, document: bytes) -> dict[str, Any]:
    with zipfile.ZipFile(folder / "m.keras", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("config.json", document)
    return {"model": "tensorflow", "uri": str(folder / "m.keras"), "outputs": {"y": "array<float>[1]"}}


def _program_of(folder: Path, document: bytes) -> dict[str, Any]:
    with zipfile.ZipFile(folder / "m.pt2", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("m/archive_format", "pt2")
        archive.writestr("m/models/model.json", document)
    uri = str(folder / "m.pt2")
    return {"model": "pytorch", "uri": uri, "sha256": _digest(uri), "outputs": {"y": "array<float>[1]"}}


def _digest(path: str) -> str:
    import hashlib

    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


def _tensors_of(folder: Path, document: bytes) -> dict[str, Any]:
    head = b'{"a":' + document[: (1 << 24) - 7].rpartition(b",")[0] + b"}"
    (folder / "m.safetensors").write_bytes(struct.pack("<Q", len(head)) + head)
    params = {"in_features": 1, "out_features": 1}
    uri = str(folder / "m.safetensors")
    outputs = {"y": "array<float>[1]"}
    return {
        "model": "pytorch", "uri": uri, "model_class": "torch.nn.Linear", "model_params": params, "outputs": outputs,
    }  # fmt: skip


def _folder_of(folder: Path, document: bytes) -> dict[str, Any]:
    (folder / "hf").mkdir()
    (folder / "hf/config.json").write_bytes(document)
    (folder / "hf/model.safetensors").write_bytes(b"")
    outputs = {"label": "string", "score": "double"}
    return {
        "model": "huggingface",
        "task": "text-classification",
        "uri": str(folder / "hf"),
        "outputs": outputs,
    }


FORMATS: Final = {
    "skops": _skops_of, "keras": _keras_of, "export": _program_of, "safetensors": _tensors_of, "folder": _folder_of,
}  # fmt: skip


def _of_all_formats(folder: Path, documents: Iterable[bytes]) -> dict[str, dict[str, Any]]:
    """Creates a node a document and a format."""
    nodes = {}
    for at, content in enumerate(documents):
        place = folder / str(at)
        place.mkdir()
        nodes |= {f"{name}{at}": make(place, content) for name, make in FORMATS.items()}
    return nodes


def test_a_document_is_measured_before_it_is_read(tmp_path: Path) -> None:
    """A list of three characters takes 64 bytes: documents became forty times their size."""
    nodes = _of_all_formats(tmp_path, [_lists(SIZE)])
    assert validated(tmp_path, nodes) == set(nodes)


def test_a_document_that_cannot_be_read_is_one_sentence(tmp_path: Path) -> None:
    nodes = _of_all_formats(tmp_path, UNREADABLE)
    assert validated(tmp_path, nodes) == set(nodes)


def _ubj_objects(size: int) -> bytes:
    count = size // 2
    return b"{L" + struct.pack(">q", 1) + b"a[#L" + struct.pack(">q", count) + b"{}" * count + b"}"


def _ubj_arrays(size: int) -> bytes:
    count = size // 12
    return (
        b"{L"
        + struct.pack(">q", 1)
        + b"a[#L"
        + struct.pack(">q", count)
        + (b"[$U#L" + bytes(8)) * count
        + b"}"
    )


@pytest.mark.parametrize("make", [_ubj_objects, _ubj_arrays, *DOCUMENTS.values()])
def test_a_model_of_xgboost_is_measured_before_it_is_read(
    make: Callable[[int], bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(document, "MOST_JSON_MEMORY", 1 << 20, raising=False)  # of 512 MiB, to save time
    made = make(4_000_000)
    with pytest.raises(TreeError, match="in memory"):
        check_model(made if made[:1] == b"{" else b'{"a":' + made + b"}")


# Weights of Keras


def _doubled(groups: dict[str, Any], depth: int) -> None:
    """Puts each group into the one before it, twice: 2 ** depth paths."""
    group = groups["g0"]
    for at in range(1, depth):
        group["a"] = group["b"] = following = groups[f"g{at}"]
        group = following


@pytest.mark.parametrize("depth", [60, 2_000])
def test_weights_whose_groups_are_linked_twice_are_looked_through_once(tmp_path: Path, depth: int) -> None:
    path = str(tmp_path / "m.weights.h5")
    with h5py.File(path, "w") as file:
        _doubled({f"g{at}": file.create_group(f"g{at}") for at in range(depth)}, depth)
        file["g0"]["itself"] = file["g0"]
    check_weights(path)  # along all paths it would take years
    with h5py.File(path, "a") as file:
        file[f"g{depth - 1}"]["far"] = h5py.ExternalLink("other.h5", "/x")
    with pytest.raises(ModelFormatError, match="in another file"):
        check_weights(path)


# Ensemble files


def test_a_large_ensemble_file_is_not_read_to_its_end(tmp_path: Path) -> None:
    path = tmp_path / "h.yaml"
    with path.open("wb") as file:
        file.truncate(1 << 30)
    answer, peak = verb("validate", str(path), "--json")
    assert [one["code"] for one in json.loads(answer.stdout)["problems"]] == ["too_large"]
    assert peak < _PEAK // 2, peak


# Rows


def test_a_text_that_all_rows_name_is_unfolded_in_parts(tmp_path: Path) -> None:
    """A dictionary page has a long text once, and each row names it: 6 kB stood for 8 GB."""
    texts = pa.DictionaryArray.from_arrays(
        pa.array([0, None] + [0] * 598, pa.int32()), pa.array(["a" * 4_000_000])
    )
    table = pa.table({"n": pa.array(range(600), pa.int64()), "t": texts})
    for at, store in enumerate((False, True)):
        rows = tmp_path / f"{at}.parquet"
        pq.write_table(table, rows, compression="zstd", store_schema=store)
        assert rows.stat().st_size < 10_000
        reader = ParquetReader(str(rows))
        assert reader.schema.field("t").type == (texts.type if store else pa.string())
        found = list(itertools.islice(reader.chunks(1_000), 3))
        assert [chunk.numbers[0] for chunk in found] == [1, 69, 136]
        assert all(chunk._batch.schema == reader.schema for chunk in found)


def test_rows_that_need_more_memory_than_there_is_are_one_sentence(tmp_path: Path) -> None:
    """Where one row alone needs it, the verb says so."""
    table = pa.table({"t": ["a" * 300_000_000]})
    rows, scored, spec = tmp_path / "r.parquet", tmp_path / "o.jsonl", tmp_path / "e.yaml"
    # Statistics of such a text are not written, but computing them takes seconds.
    pq.write_table(table, rows, compression="zstd", store_schema=False, write_statistics=False)
    nodes = {"m": {"apply": "sql", "select": {"y": "t"}, "outputs": {"y": "string"}}}
    spec.write_text(json.dumps({"ensemble": "e", "inputs": {"t": "string"}, "nodes": nodes}))
    answer, _ = verb(
        "run", str(spec), "--input", str(rows), "--output", str(scored), most_bytes=1_000_000_000
    )
    assert answer.stderr.count("beam-ensembles run:") == 1
    assert not scored.exists()


def test_the_largest_document_is_read_and_no_larger_one() -> None:
    text = b'"' + b"a" * (LARGEST_JSON - 2) + b'"'
    assert len(load_json(io.BytesIO(text))) == LARGEST_JSON - 2
    with pytest.raises(ModelFormatError, match="its JSON is longer than 64 MiB"):
        load_json(io.BytesIO(text + b" "))


@pytest.mark.parametrize("beyond", [0, 1])
def test_no_more_classes_of_skops_than_the_limit_are_read(tmp_path: Path, beyond: int) -> None:
    model = LogisticRegression().fit([[0.0], [1.0]], [0, 1])
    model.classes_ = np.zeros(MOST_ARRAY_VALUES + beyond, dtype=np.int8)
    skops.io.dump(model, tmp_path / "m.skops")
    found = read_header(str(tmp_path / "m.skops")).classes
    assert (len(found or ()), found is None) == ((0, True) if beyond else (MOST_ARRAY_VALUES, False))


# directories of zip archives


def many_entries(count: int, *, is_wide: bool) -> bytes:
    """A zip whose directory has more entries than its end says; with ``is_wide`` the two ends contradict each other."""
    entry = struct.pack("<4s4B4HL2L5H2L", b"PK\1\2", 20, 3, 20, 0, 0, 0, 0, 33, *[0] * 10)
    size = len(entry) * count
    wide = struct.pack("<4sQ2H2L4Q", b"PK\6\6", 44, 45, 45, 0, 0, count, count, size, 30)
    wide += struct.pack("<4sLQL", b"PK\6\7", 0, 30 + size, 1)
    end = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 1, 1, 100 if is_wide else size, 30, 0)
    return b"PK\3\4" + b"\0" * 26 + entry * count + (wide if is_wide else b"") + end


@pytest.mark.parametrize("is_wide", [False, True])
def test_entries_of_a_zip_are_counted_before_they_are_read(
    tmp_path: Path, is_wide: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archives, "MOST_FILES", 1_000)
    path = tmp_path / "a.ensemble.zip"
    path.write_bytes(many_entries(20_000, is_wide=is_wide))
    archive = tmp_path / "m.keras"
    archive.write_bytes(path.read_bytes())
    attacks: tuple[tuple[Callable[[Any], object], str], ...] = (
        (lambda path: read_archive(path.open("rb"), path.name), "more than 1000 files"),
        (lambda path: format_of(str(path), has_class=True), "more than 1000 files"),
        (lambda path: read_header(str(path)), "not a skops file"),
        (lambda path: read_keras(str(path)), "more than 1000 files"),
        (lambda path: read_program(str(path)), "more than 1000 files"),
        (lambda _: check_weights(str(archive)), "not a readable HDF5 file"),
        (lambda path: names_in(str(path)), ""),
        (lambda path: recognized(str(path)), ""),
    )
    tracemalloc.start()
    try:
        for attack, said in attacks:
            tracemalloc.reset_peak()
            with contextlib.ExitStack() as ends:
                if said:
                    ends.enter_context(pytest.raises((BadBundle, ModelFormatError), match=said))
                attack(path)
            assert tracemalloc.get_traced_memory()[1] < 4 << 20, said
    finally:
        tracemalloc.stop()


def test_a_directory_of_a_zip_is_measured_before_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.ensemble.zip"
    data = many_entries(1, is_wide=True)
    at = data.index(b"PK\6\6")
    with path.open("wb") as file:
        file.truncate(1 << 30)  # a hole
        file.seek(0, os.SEEK_END)
        record = struct.pack("<4sQ2H2L4Q", b"PK\6\6", 44, 45, 45, 0, 0, 1, 1, 1 << 30, 0)
        file.write(record + data[at + len(record) :])
    tracemalloc.start()
    try:
        with path.open("rb") as file, pytest.raises(BadBundle, match="the most"):
            read_archive(file, path.name)
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()


# pickles, of which pack reads the names


def _doubled_key(times: int) -> bytes:
    """A pickle of a mapping whose key is two tuples, each of which is twice the same tuple, and so on."""
    return b"\x80\x04}K\x01" + b"2\x86" * times + b"K\x01s."


def pickles() -> list[bytes]:
    """Pickles that become large in memory, or take long."""
    text = b"X\0\0\2\0" + b"x" * (2 << 16)
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as made:
        made.writestr("data.pkl", b"\x80\x04" + b"}" * (10 << 20))
    return [
        b"\x80\x05\x96" + struct.pack("<Q", 1 << 30) + b"abc.",
        b"\x80\x05\x8e" + struct.pack("<Q", 1 << 30) + b"abc.",
        zlib.compress(b"\x80\x04V" + b"x" * (100 << 20), 1),
        zlib.compress(b"\x80\x04" + text * 800, 1),
        _doubled_key(60),
        b"\x80\x04" + b"".join(b"cx\ny%d\n" % at for at in range(50_000)) + b".",
        archive.getvalue(),
    ]


def test_small_pickles_that_are_large_are_read_in_part(tmp_path: Path) -> None:
    code = (
        "import re, sys\n"
        "from pathlib import Path\n"
        "from beam_ensembles.bundles.pickled_names import names_in\n"
        "for path in sys.argv[1:]:\n"
        "    names_in(path)\n"
        "print(re.search(r'VmHWM:\\s*(\\d+)', Path('/proc/self/status').read_text())[1])"
    )
    paths = []
    for number, content in enumerate(pickles()):
        paths.append(tmp_path / f"{number}.pkl")
        paths[-1].write_bytes(content)

    def bound() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (_CPU_SECONDS, _CPU_SECONDS))

    command = [sys.executable, "-c", code, *map(str, paths)]
    done = subprocess.run(command, check=True, preexec_fn=bound, stdout=subprocess.PIPE, timeout=SECONDS)
    assert int(done.stdout) << 10 < 400 << 20


# images and sounds of rows


def tiled(side: int, tile: int) -> bytes:
    """A small TIFF in one tile of another size, of which hardly anything is there."""
    entries = [
        (256, side), (257, side), (258, 8), (259, 8), (262, 1), (277, 1), (284, 1), (322, tile), (323, tile),
        (324, 146), (325, 100),
    ]  # fmt: skip
    tags = b"".join(struct.pack("<2H2L", tag, 4, 1, value) for tag, value in entries)
    return b"II*\0" + struct.pack("<LH", 8, len(entries)) + tags + b"\0" * 104


def many_scans(count: int) -> bytes:
    """A JPEG that is drawn once more by each 75 bytes."""
    file = io.BytesIO()
    Image.new("L", (2_000, 2_000)).save(file, "JPEG", progressive=True)
    data = file.getvalue()
    last = data[data.rindex(b"\xff\xda") : -2]
    return data[:-2] + last * count + data[-2:]


@pytest.mark.parametrize(
    ("data", "said"),
    [(tiled(100, 40_000), "its tiles are too large"), (many_scans(200), "more than 100 scans")],
    ids=["TIFF", "JPEG"],
)
def test_a_small_image_takes_no_more_than_its_pixels(data: bytes, said: str) -> None:
    start = time.process_time()
    with pytest.raises(NodeError, match=said):
        decode_image(data, "i")
    assert time.process_time() - start < 1.0


def test_a_slow_sound_does_not_become_a_long_one() -> None:
    samples = bytes(2 * 600)
    for rate in (1, 999):
        head = struct.pack(
            "<L4s4sL2H2L2H", 36 + len(samples), b"WAVE", b"fmt ", 16, 1, 1, rate, 2 * rate, 2, 16
        )
        sound = b"RIFF" + head + b"data" + struct.pack("<L", len(samples)) + samples
        with pytest.raises(NodeError, match=f"it has {rate} samples a second; the least is 1000"):
            decode_sound(sound, 16_000, "s")


SILENCE: Final = r"""
import io, re
import apache_beam as beam, numpy as np, soundfile
from beam_ensembles.execution import node_steps
from beam_ensembles.runtime.ensemble_handler import EnsembleModelHandler
from pathlib import Path
import sys

file = io.BytesIO()
soundfile.write(file, np.zeros(9_600_000, np.float32), 16_000, format="FLAC")
data = file.getvalue()
assert len(data) < 30_000
Path(sys.argv[1]).write_text(
    "ensemble: silence\ninputs: {id: int64, s: bytes}\nnodes:\n"
    "  samples: {apply: audio, rate: 16000, inputs: [s], outputs: {samples: {}}}\n"
    "  n: {apply: sql, select: {n: 'array_length(samples)'}, outputs: {n: int64}}\noutputs: [n]\n"
)
node_steps.MADE_AT_ONCE = 64 << 20
handler = EnsembleModelHandler(sys.argv[1])
model = handler.load_model()
rows = [beam.Row(id=at, s=data if at != 1 else b"x") for at in range(int(sys.argv[2]))]
def kilobytes(name):
    return int(re.search(name + r":\s*(\d+)", Path("/proc/self/status").read_text())[1])

Path("/proc/self/clear_refs").write_text("5")  # the peak starts again
before = kilobytes("VmRSS")
found = [getattr(one.inference, "n", None) for one in handler.run_inference(rows, model)]
assert found == [9_600_000, None, *[9_600_000] * (len(rows) - 2)], found
print(kilobytes("VmHWM") - before)
"""
"""Ten minutes of silence a row: 28 kB of FLAC, 38 MB of samples, 300 MB as Python's numbers."""


def test_sounds_that_are_long_together_are_decoded_a_few_at_a_time(tmp_path: Path) -> None:
    """A batch of 1,024 such rows, 28 MB, took 300 GB."""

    def bound() -> None:
        resource.setrlimit(resource.RLIMIT_DATA, (_MOST_BYTES, _MOST_BYTES))

    command = [sys.executable, "-c", SILENCE, str(tmp_path / "silence.yaml"), "8"]
    done = subprocess.run(command, check=True, preexec_fn=bound, stdout=subprocess.PIPE, timeout=SECONDS)
    assert int(done.stdout) << 10 < 400_000_000


def silence(samples: int, rate: int) -> bytes:
    file = io.BytesIO()
    soundfile.write(file, np.zeros(samples, np.float32), rate, format="FLAC")
    return file.getvalue()


def test_tasks_of_transformers_decode_a_few_long_sounds_at_a_time() -> None:
    data = silence(4 * 3_600 * 1_000, 1_000)
    assert len(data) < 50_000
    pipe = SimpleNamespace(feature_extractor=SimpleNamespace(sampling_rate=16_000))
    for function in (pipelines.transcribe, pipelines.classify):
        with pytest.raises(
            TooLargeTogether,
            match=f"sounds of 460800000 samples together; the most at once is {SAMPLES_AT_ONCE}",
        ):
            function(pipe, {"audio": [data, b"x", data]}, {}, 1)
    pipe.feature_extractor.sampling_rate = 48_000
    with pytest.raises(NodeError, match="it is 691200000 samples at 48000 a second; the most is 268435456"):
        pipelines.transcribe(pipe, {"audio": [data]}, {}, 1)


def test_rows_that_keep_sounds_keep_only_so_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audio, "MOST_SAMPLES", 40_000)
    rows = [silence(count, 1_000) for count in (1_000, 3_500, 2_000, 500)]
    column = np.array(rows, dtype=object)
    with pytest.raises(SomeFailed) as caught:
        audio.Samples("s", 10_000, 600.0, {"samples": audio.GIVEN})({"s": column})
    assert [len(row) for row in caught.value.columns["samples"]] == [10_000, 20_000, 5_000]
    text = "it is 35000 samples at 10000 a second; the most is 268435456, and those before it in its batch leave 30000"
    assert text in caught.value.faults[1].message


def test_images_that_are_large_together_are_decoded_a_few_at_a_time() -> None:
    file = io.BytesIO()
    Image.new("L", (7_000, 7_000)).save(file, "PNG")
    data = file.getvalue()
    assert len(data) < 50_000
    with pytest.raises(NodeError, match="more than 200000000 pixels together"):
        read_images([data] * 5, "i")

    def sides(columns: Columns) -> Columns:
        return {"side": np.array([image.width for image in read_images(columns["i"], "i")])}

    small = io.BytesIO()
    Image.new("L", (3, 3)).save(small, "PNG")
    column = np.array([data, small.getvalue(), b"x", *[data] * 4], dtype=object)
    found, faults = run_split(sides, {"i": column}, len(column))
    assert found["side"].tolist() == [7_000, 3, *[7_000] * 4]
    assert list(faults) == [2]
