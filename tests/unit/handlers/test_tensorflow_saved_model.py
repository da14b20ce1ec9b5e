"""What a SavedModel may do besides computing, found without TensorFlow."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from beam_ensembles.errors import (
    ModelFormatError,
)
from beam_ensembles.handlers.tensorflow.operations import computing
from beam_ensembles.handlers.tensorflow.saved_model import FILE, read_saved_model

Edit = Callable[[Any], None]


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with ordinary models: ``tables`` has variables, tables, branches, loops and random numbers."""
    from tests.support.tensorflow_models import make_attacks, make_tables

    folder = tmp_path_factory.mktemp("saved_models")
    make_tables(folder)
    make_attacks(folder)
    return folder


def edited(models: Path, folder: Path, edit: Edit, name: str = "tables") -> str:
    """Returns a copy of a model after a change of its meta graph."""
    from tensorflow.core.protobuf import saved_model_pb2

    target = folder / "edited"
    shutil.copytree(models / name, target)
    saved = saved_model_pb2.SavedModel.FromString((target / FILE).read_bytes())
    edit(saved.meta_graphs[0])
    (target / FILE).write_bytes(saved.SerializeToString())
    return str(target)


def function_with(graph: Any, operation: str) -> Any:
    """Returns the first function of a graph that has an operation."""
    return next(
        one for one in graph.graph_def.library.function if any(node.op == operation for node in one.node_def)
    )


def test_a_model_that_only_computes_is_allowed(models: Path) -> None:
    for name in ("tables", "words"):
        assert read_saved_model(str(models / name)).unsafe == ()


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("prints", {"PrintV2"}),
        ("lists_files", {"MatchingFiles"}),
        ("reads_lines", {"TextLineDataset", "DatasetToSingleElement"}),
        ("reads_in_a_branch", {"ReadFile"}),
        ("reads_in_a_loop", {"ReadFile"}),
        ("writes_in_a_gradient", {"WriteFile"}),
        ("calls_python", {"EagerPyFunc"}),
        ("restores", {"RestoreV2"}),
        ("fills_a_table", {"InitializeTableFromTextFileV2"}),
    ],
)
def test_every_operation_that_reaches_beyond_the_model_is_found(
    models: Path, name: str, wanted: set[str]
) -> None:
    assert wanted <= set(read_saved_model(str(models / name)).unsafe)


@pytest.mark.parametrize(
    "operation",
    [
        "Abort", "Batch", "CollectiveReduceV2", "CopyHost", "DebugIdentityV2", "DecodeProtoV2", "DumpTensor", "Empty",
        "FixedUnigramCandidateSampler", "ImmutableConst", "LoadAndRemapMatrix", "MadeUpOperation", "PyFuncStateless",
        "QueueDequeueV2", "ReaderReadV2", "RecordInput", "RemoteCall", "RpcCall", "Skipgram", "SnapshotDatasetV2",
        "SQL>Query", "TPUExecute", "TemporaryVariable", "WholeFileReaderV2", "WriteSummary", "XlaCallModule",
        "XlaCustomCallV2", "_Send",
    ],
)  # fmt: skip
@pytest.mark.parametrize("is_called", [True, False])
def test_an_operation_that_is_not_listed_is_refused_wherever_it_is(
    models: Path, tmp_path: Path, operation: str, is_called: bool
) -> None:
    def add(graph: Any) -> None:
        if is_called:
            graph.graph_def.library.function[0].node_def.add(name="added", op=operation)
        else:
            graph.graph_def.node.add(name="added", op=operation)

    assert read_saved_model(edited(models, tmp_path, add)).unsafe == (operation,)


def test_a_function_may_not_take_the_name_of_an_operation(models: Path, tmp_path: Path) -> None:
    def hide(graph: Any) -> None:
        graph.graph_def.library.function.add().signature.name = "ReadFile"
        graph.graph_def.library.function[0].node_def.add(name="added", op="ReadFile")

    assert read_saved_model(edited(models, tmp_path, hide)).unsafe == ("ReadFile",)


def test_only_the_saver_may_call_its_functions(models: Path, tmp_path: Path) -> None:
    def call(graph: Any) -> None:
        saver, caller = function_with(graph, "SaveV2"), function_with(graph, "LookupTableFindV2")
        node = caller.node_def.add(name="added", op="PartitionedCall")
        node.attr["f"].func.name = saver.signature.name

    def serve(graph: Any) -> None:
        saver = function_with(graph, "RestoreV2").signature.name
        graph.object_graph_def.nodes[0].bare_concrete_function.concrete_function_name = saver

    def swap(graph: Any) -> None:
        function_with(graph, "SaveV2").attr["api_implements"].s = b"lookup"

    for at, edit in enumerate((call, serve, swap)):
        assert read_saved_model(edited(models, tmp_path / str(at), edit)).unsafe


def test_many_functions_on_files_are_refused_in_linear_time(models: Path, tmp_path: Path) -> None:
    def repeat(graph: Any) -> None:
        for operation in ("SaveV2", "InitializeTableFromTextFileV2"):
            for at in range(2_000):
                copy = graph.graph_def.library.function.add()
                copy.signature.name = f"{operation}_{at}"
                copy.node_def.add(name="n", op=operation)

    started = time.process_time()
    found = read_saved_model(edited(models, tmp_path, repeat)).unsafe
    assert [part.partition(" ")[2] for part in found] == [
        "functions on files of tables",
        "functions on files of variables",
    ]
    assert time.process_time() - started < 5


def test_a_table_reads_only_an_asset_of_the_model(models: Path, tmp_path: Path) -> None:
    def constant(graph: Any) -> None:
        function = function_with(graph, "InitializeTableFromTextFileV2")
        node = next(node for node in function.node_def if node.op == "InitializeTableFromTextFileV2")
        path = function.node_def.add(name="path", op="Const")
        path.attr["value"].tensor.string_val.append(b"/etc/passwd")
        node.input[1] = "path:output:0"

    def bound_to_a_variable(graph: Any) -> None:
        for node in graph.object_graph_def.nodes:
            if node.WhichOneof("kind") == "asset":
                node.constant.operation = "path"

    def called_with_another_path(graph: Any) -> None:
        function = function_with(graph, "InitializeTableFromTextFileV2")
        caller = function_with(graph, "LookupTableFindV2")
        caller.node_def.add(name="added", op=function.signature.name)

    for at, edit in enumerate((constant, bound_to_a_variable, called_with_another_path)):
        found = read_saved_model(edited(models, tmp_path / str(at), edit)).unsafe
        assert found == ("InitializeTableFromTextFileV2",)


@pytest.mark.parametrize("name", ["../../../etc/passwd", "/etc/passwd", "a/../../b", "gs://other/file", ""])
def test_an_asset_lies_in_the_models_folder(models: Path, tmp_path: Path, name: str) -> None:
    def lead_out(graph: Any) -> None:
        graph.asset_file_def[0].filename = name

    assert read_saved_model(edited(models, tmp_path, lead_out)).unsafe == (
        f"the asset '{name}' out of its folder",
    )


def test_a_link_stays_in_the_models_folder(models: Path, tmp_path: Path) -> None:
    folder = edited(models, tmp_path, lambda graph: None)
    vocabulary = next(Path(folder, "assets").iterdir())
    vocabulary.rename(vocabulary.with_name("moved"))
    vocabulary.symlink_to("moved")
    assert read_saved_model(folder).unsafe == ()
    vocabulary.unlink()
    vocabulary.symlink_to("/etc/passwd")
    assert read_saved_model(folder).unsafe == (
        f"the link 'assets/{vocabulary.name}', which leads out of the folder",
    )


def test_a_model_of_tensorflow_1_with_a_saver_is_not_told_from_one_that_reads_files(
    models: Path, tmp_path: Path
) -> None:
    def without_objects(graph: Any) -> None:
        graph.ClearField("object_graph_def")

    found = set(read_saved_model(edited(models, tmp_path, without_objects)).unsafe)
    assert found == {"InitializeTableFromTextFileV2", "MergeV2Checkpoints", "RestoreV2", "SaveV2"}


def test_what_readers_of_protocol_buffers_read_differently_is_damage(models: Path, tmp_path: Path) -> None:
    content = Path(edited(models, tmp_path, lambda graph: None), FILE).read_bytes()
    from tensorflow.core.framework import node_def_pb2, versions_pb2
    from tensorflow.core.protobuf import meta_graph_pb2, saved_model_pb2

    twice = node_def_pb2.NodeDef(name="n", op="Identity").SerializeToString() + b"\x12\x08ReadFile"
    graph = meta_graph_pb2.MetaGraphDef()
    graph.meta_info_def.tags.append("serve")
    graph.graph_def.versions.CopyFrom(versions_pb2.VersionDef(producer=1))
    inner = b"\x0a" + bytes([len(twice)]) + twice
    meta = graph.SerializeToString() + b"\x12" + bytes([len(inner)]) + inner
    body = saved_model_pb2.SavedModel().SerializeToString() + b"\x12" + bytes([len(meta)]) + meta
    cut_off = b"\x92\x80\x80\x80\x10\x00" + content  # field 2 for who keeps 32 bits of its key
    for at, damaged in enumerate((body, cut_off)):
        (tmp_path / str(at)).mkdir()
        (tmp_path / str(at) / FILE).write_bytes(damaged)
        with pytest.raises(ModelFormatError, match="damaged"):
            read_saved_model(str(tmp_path / str(at)))


def test_listed_operations_are_tensorflows_own_and_name_no_files() -> None:
    from scripts.tensorflow_operations import found, registry

    known, listed = registry(), {name.decode() for name in computing()}
    assert listed <= set(found())
    words = {
        "address",
        "descriptor",
        "dir",
        "directory",
        "file",
        "filename",
        "path",
        "token",
        "uri",
        "url",
        "urls",
    }
    for name in listed:
        parts = [part.name for part in (*known[name].input_arg, *known[name].attr)]
        assert not {word for part in parts for word in part.split("_")} & words, name


def test_the_list_is_a_file_of_the_package() -> None:
    from beam_ensembles.handlers.tensorflow import operations

    assert os.path.dirname(operations.__file__) == str(operations.FILE.parent)
    assert {b"MatMul", b"StatefulPartitionedCall", b"While"} <= computing()
