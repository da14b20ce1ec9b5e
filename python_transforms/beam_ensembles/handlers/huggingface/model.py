"""``model: huggingface``: a task of transformers, or one of its model classes for tensors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from beam_ensembles.errors import listed
from beam_ensembles.graph.class_meanings import shown
from beam_ensembles.graph.kinds import ROWS_OF_A_CALL, CheckedNode, Kind, Member, NodeView, Work
from beam_ensembles.handlers.huggingface import hub, hub_cache
from beam_ensembles.handlers.huggingface.checks import (
    are_placeholders,
    check_task,
    class_names,
    named_classes,
    parts_of,
    task_of,
)
from beam_ensembles.handlers.huggingface.drawing import DRAWING_TASKS, check_seed, draws_by_itself
from beam_ensembles.handlers.huggingface.folder_parts import check_parts
from beam_ensembles.handlers.huggingface.model_node import check_class, load_class
from beam_ensembles.handlers.huggingface.options import HuggingFaceOptions
from beam_ensembles.handlers.huggingface.task_node import load_task
from beam_ensembles.handlers.huggingface.tasks import TASKS
from beam_ensembles.handlers.support import member
from beam_ensembles.handlers.support.beam_config import (
    HONOURED,
    REFUSED,
    check_config,
)
from beam_ensembles.types import Type

_BY_LOADING: Final = {"load_model_args": hub.LOADING, "load_pipeline_args": hub.LOADING}
CONFIG_REFUSED: Final = {
    **REFUSED,
    "device": "set 'device' on the node itself",
    "framework": "transformers 5 has PyTorch only",
    "model": "'uri' of the node says where the model is",
    "model_class": "set 'model_class' on the node itself",
    "model_uri": "'uri' of the node says where the model is",
    "task": "set 'task' on the node itself",
}


class HuggingFaceKind(Kind[HuggingFaceOptions]):
    """Runs a model of transformers through Beam's Hugging Face handlers."""

    kind = "model"
    name = "huggingface"
    summary = "Runs a model of Hugging Face's transformers: by task, or by class on tensors."
    takes = (
        "With 'task' its inputs, by name or the one column of its only one; with 'model_class' tensors, by "
        "the names of the model's arguments."
    )
    gives = (
        "With 'task' the task's results, by name; with 'model_class' the tensors of the model's answer, "
        "by name ('sequences' for generate)."
    )
    extra = hub.EXTRA
    modules = ("transformers", "torch", "PIL")
    work = Work.ALL_CORES
    call_rows = ROWS_OF_A_CALL
    options = HuggingFaceOptions

    def check(self, node: NodeView[HuggingFaceOptions]) -> Mapping[str, Type | None]:
        """Checks a node against the table of tasks, and against ``config.json`` where the model is a local folder."""
        model = hub.check_place(node)
        _check_labels(node, model.config)
        task, by_class = task_of(node), node.options.model_class is not None
        unused = "load_pipeline_args" if by_class or (task and task.model_class) else "load_model_args"
        honoured = {name: value for name, value in {**HONOURED, **_BY_LOADING}.items() if name != unused}
        check_config(node, honoured, CONFIG_REFUSED)
        if by_class:
            draws = draws_by_itself(model.folder)
            check_seed(node, writes=node.options.method == "generate", draws=draws)
            if node.options.task is not None:
                node.problem("bad_value", "model_class", "a node has a 'task' or a 'model_class', not both")
            return check_class(node)
        if node.options.method is not None:
            node.problem("unsupported_option", "method", "a task calls what it needs; leave 'method' out")
        if task is None:
            if node.options.task is None:
                text = (
                    f"say what the model does: 'task' ({listed(sorted(TASKS))}), or 'model_class' for tensors"
                )
                node.problem("missing_key", "task", text)
            return {output.column: output.type for output in node.spec.outputs}
        draws = node.options.task in DRAWING_TASKS or draws_by_itself(model.folder)
        check_seed(node, writes="do_sample" in task.arguments, draws=draws)
        if model.folder is not None:
            check_parts(node, model.folder, model.config, parts_of(task))
        return check_task(node, task, model.config)

    def is_on_hub(self, uri: str) -> bool:
        """Whether it is the name of a model on the Hugging Face hub, ``hf:NAME``."""
        return hub_cache.is_name(uri)

    def cached(self, uri: str, revision: str | None) -> str:
        """Returns the folder of its snapshot."""
        return hub_cache.cached_snapshot(uri, revision)

    def is_tried(self, node: CheckedNode[HuggingFaceOptions]) -> bool:
        """Whether its model gives no texts."""
        return node.options.task is None and node.options.method != "generate"

    def load(self, node: CheckedNode[HuggingFaceOptions]) -> Member:
        """Loads the model, or the pipeline, through Beam's handler."""
        hub.without_kernels()
        beam = member.handlers_of(node, "huggingface_inference", hub.EXTRA)
        if node.options.task is not None:
            return load_task(node, beam, hub.transformers_of(node))
        return load_class(node, beam, hub.transformers_of(node))


def _warn_of_no_names(node: NodeView[HuggingFaceOptions], config: Mapping[str, Any]) -> None:
    """Warns where a node's outputs name classes to which the model gives no names."""
    task = task_of(node)
    given = {output.port or output.column for output in node.spec.outputs}
    has_classes = task is not None and "probabilities" in task.outputs and given & {"label", "labels"}
    if config and has_classes and named_classes(config) is None and not _is_regression(config):
        text = "config.json names no classes (id2label): they are LABEL_0, LABEL_1, ...; name them in order: 'labels'"
        node.warning("bad_labels", "uri", text)


def _is_regression(config: Mapping[str, Any]) -> bool:
    """Whether a sequence model gives numbers rather than scores of classes: transformers takes one label for that."""
    return config.get("problem_type") == "regression" or len(class_names(config) or ()) == 1


def _check_labels(node: NodeView[HuggingFaceOptions], config: Mapping[str, Any]) -> None:
    """Compares ``labels`` with the classes of the model's configuration."""
    if node.options.labels is None:
        _warn_of_no_names(node, config)
        return
    names, labels = class_names(config), node.options.labels
    if names is None or labels == names or (are_placeholders(names) and len(labels) == len(names)):
        return
    text = (
        f"the node's labels are {shown(labels)}, but the model's classes are {listed(names)}, in this order"
    )
    node.problem("bad_labels", "labels", text)
