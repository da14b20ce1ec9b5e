"""Checks of a node that names a task: ports, types and arguments, against the table and the model's configuration."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from beam_ensembles.errors import listed, nearest
from beam_ensembles.graph.class_meanings import BEST_FIRST, LABELS, SCORES, Meaning, of_classes
from beam_ensembles.graph.kinds import CheckedNode, NodeView
from beam_ensembles.graph.output_ports import check_ports, ports_of, settle
from beam_ensembles.handlers.huggingface.arguments import BATCH_SIZE
from beam_ensembles.handlers.huggingface.embeddings import POOLINGS
from beam_ensembles.handlers.huggingface.folder_parts import IMAGES, SOUNDS, TOKENIZER
from beam_ensembles.handlers.huggingface.media import IMAGE, SOUND, TEXT, TEXTS
from beam_ensembles.handlers.huggingface.options import HuggingFaceOptions
from beam_ensembles.handlers.huggingface.tasks import TASKS, Task
from beam_ensembles.spec.model import NodeSpec
from beam_ensembles.spec.places import below
from beam_ensembles.types import FLOAT, Array, Type, row_shape

_HIDDEN_SIZES: Final = ("hidden_size", "d_model", "dim", "n_embd")


def check_task(
    node: NodeView[HuggingFaceOptions], task: Task, config: Mapping[str, Any]
) -> Mapping[str, Type | None]:
    """Checks a node against its task and settles its types.

    Args:
        node: The node.
        task: Its task.
        config: The model's ``config.json``, empty where it is not known.
    """
    _check_inputs(node, task)
    _check_arguments(node, task)
    _check_samples(node, task)
    check_model(node, task, config)
    ports = check_ports(node, list(task.outputs))
    for column, meaning in meanings(node, task, config).items():
        node.tell(column, meaning)
    found = {column: _type_of(task, port, config) for column, port in ports.items()}
    return settle(node, "signature_mismatch", _with_lengths(node, found))


def input_ports(node: NodeSpec, task: Task) -> dict[str, str]:
    """Returns the column of each input of a task; a list of columns is the task's only one."""
    inputs = node.inputs
    if inputs is None:
        return {}
    if inputs.ports is not None:
        return dict(zip(inputs.ports, inputs.columns, strict=True))
    return dict(zip(needed(task), inputs.columns, strict=False))


def needed(task: Task) -> list[str]:
    """Returns the inputs that a task cannot be without."""
    return [name for name, port in task.inputs.items() if port.required]


def _check_inputs(node: NodeView[HuggingFaceOptions], task: Task) -> None:
    inputs, names = node.spec.inputs, needed(task)
    if inputs is None:
        return
    if inputs.ports is None and (len(names) > 1 or len(inputs.columns) > 1):
        given = ", ".join(f"{name}: ..." for name in names)
        node.problem(
            "unknown_port", "inputs", f"the task reads {listed(names)}; name each: inputs: {{{given}}}"
        )
        return
    ports = input_ports(node.spec, task)
    lacking = [name for name in names if name not in ports]
    if lacking and set(ports) <= set(task.inputs):  # a port that there is none of may be the one that lacks
        text = f"the task needs '{lacking[0]}': {task.inputs[lacking[0]].description}"
        node.problem("signature_mismatch", "inputs", text)
    for index, (name, column) in enumerate(ports.items()):
        _check_input(node, task, inputs.path(index), name, column)
    _check_page(node, task, ports)


def _check_page(node: NodeView[HuggingFaceOptions], task: Task, ports: Mapping[str, str]) -> None:
    """A page is an image, words with their boxes, or both."""
    if "words" not in task.inputs:
        return
    if ("words" in ports) != ("boxes" in ports):
        node.problem(
            "signature_mismatch", "inputs", "words go with their 'boxes', and boxes with their 'words'"
        )
    elif "image" not in ports and "words" not in ports:
        text = "the task needs a page: its 'image', or its 'words' and 'boxes'"
        node.problem("signature_mismatch", "inputs", text)


def _check_input(node: NodeView[HuggingFaceOptions], task: Task, place: str, name: str, column: str) -> None:
    if name not in task.inputs:
        text = (
            f"the task reads no '{name}' (it reads: {listed(list(task.inputs))}){nearest(name, task.inputs)}"
        )
        node.problem("unknown_port", place, text)
        return
    type_, media = node.inputs.get(column), task.inputs[name].media
    if type_ is not None and not media.accepts(type_):
        node.problem("type_mismatch", place, f"'{column}' is {type_}; '{name}' is {media.wanted}")


def _check_arguments(node: NodeView[HuggingFaceOptions], task: Task) -> None:
    given = node.options.inference_args
    allowed = (BATCH_SIZE, *task.arguments)
    for name in given:
        if name not in allowed:
            text = f"the task takes no argument '{name}'{nearest(name, allowed)} (allowed: {listed(sorted(allowed))})"
            node.problem("unknown_option", below("inference_args", name), text)
    size = given.get(BATCH_SIZE, 1)
    if not isinstance(size, int) or isinstance(size, bool) or size < 1:
        text = f"'{BATCH_SIZE}' is {size!r}; it is a whole number of at least 1"
        node.problem("bad_value", below("inference_args", BATCH_SIZE), text)
    pooling = given.get("pooling", POOLINGS[0])
    if "pooling" in task.arguments and pooling not in POOLINGS:
        text = f"'pooling' cannot be {pooling!r} (allowed: {listed(POOLINGS)})"
        node.problem("bad_value", below("inference_args", "pooling"), text)
    prompt = given.get("prompt", "")
    if "prompt" in task.arguments and not isinstance(prompt, str):
        text = f"'prompt' is {prompt!r}; it is the text in front of each text"
        node.problem("bad_value", below("inference_args", "prompt"), text)
    if task.needs is not None and task.needs not in given and task.needs not in input_ports(node.spec, task):
        place = below("inference_args", task.needs)
        text = f"set '{task.needs}': a list in inference_args, or an input with a list per row"
        node.problem("missing_key", place, f"the task needs the classes to choose among; {text}")


def _check_samples(node: NodeView[HuggingFaceOptions], task: Task) -> None:
    if node.options.per_row:
        text = "a task takes one value per row; 'per_row' is for nodes with a 'model_class'"
        node.problem("unsupported_option", "per_row", text)
    samples = node.options.samples
    if samples is not None and not task.many:
        node.problem("unsupported_option", "samples", "the task gives one answer per row")
        return
    check_samples(node, samples)


def check_samples(node: NodeView[HuggingFaceOptions], samples: int | None) -> None:
    """Compares ``samples`` with how many texts ``generate`` writes."""
    wanted = node.options.inference_args.get("num_return_sequences")
    if wanted is not None and wanted != (samples or 1):
        text = f"the model writes {wanted} texts per row; set 'samples: {wanted}' on the node"
        node.problem("bad_value", below("inference_args", "num_return_sequences"), text)


def check_model(node: NodeView[HuggingFaceOptions], task: Task, config: Mapping[str, Any]) -> None:
    """Reports a model that was made for something else: transformers would fill in what it lacks at random."""
    made = config.get("architectures") or []
    if task.architectures and made and not any(str(name).endswith(task.architectures) for name in made):
        text = (
            f"the model is a {made[0]}; the task needs one that is made for it (...{task.architectures[0]})"
        )
        node.problem("signature_mismatch", "task", text)
    start, names = task.class_start, class_names(config)
    if start is not None and names is not None and not any(name.lower().startswith(start) for name in names):
        text = f"the model's classes are {listed(names)}; the task needs one of which a class is '{start}...'"
        node.problem("signature_mismatch", "task", text)


def class_names(config: Mapping[str, Any]) -> list[str] | None:
    """Returns the classes of a model's configuration, in order; None where it does not name them."""
    names = config.get("id2label")
    if not isinstance(names, Mapping) or not all(str(key).isdigit() for key in names):
        return None
    return [str(names[key]) for key in sorted(names, key=int)]


def named_classes(config: Mapping[str, Any]) -> list[str] | None:
    """Returns the classes of a model's configuration, in order; None where they have no names but made-up ones."""
    found = class_names(config)
    return None if found is None or are_placeholders(found) else found


def meanings(
    node: NodeView[HuggingFaceOptions] | CheckedNode[HuggingFaceOptions],
    task: Task,
    config: Mapping[str, Any],
) -> dict[str, Meaning]:
    """Returns what the columns of a task's node mean that are about the model's classes.

    Args:
        node: The node.
        task: Its task.
        config: The model's ``config.json``, empty where it is not known.
    """
    names = named_classes(config)
    given = {"label": of_classes(names, LABELS, is_open=True), "scores": BEST_FIRST}
    if "probabilities" not in task.outputs:
        given = {"scores": BEST_FIRST} if "scores" in task.outputs else {}
    given["probabilities"] = of_classes(names, SCORES, _refused(node, config), is_open=True)
    return {
        column: given[port]
        for column, port in ports_of(node.spec, list(task.outputs)).items()
        if port in given and port in task.outputs
    }


def _refused(
    node: NodeView[HuggingFaceOptions] | CheckedNode[HuggingFaceOptions], config: Mapping[str, Any]
) -> str:
    """Returns why a classification's scores are not probabilities that add up to 1; empty where they are."""
    asked = node.options.inference_args.get("function_to_apply")
    if asked in ("none", "sigmoid"):
        return f"'function_to_apply: {asked}' makes none that add up to 1; leave it out or set 'softmax'"
    if asked is None and config.get("problem_type") == "multi_label_classification":
        return "the model was trained to find several classes at once, each by itself"
    return ""


def are_placeholders(names: list[str]) -> bool:
    """Whether names of classes are those that transformers makes up: LABEL_0, LABEL_1 and so on."""
    return names == [f"LABEL_{at}" for at in range(len(names))]


def _type_of(task: Task, port: str, config: Mapping[str, Any]) -> Type:
    found = task.outputs[port].type
    if port == "probabilities" and (names := class_names(config)) is not None:
        return Array(found.element, (len(names),)) if isinstance(found, Array) else found
    if port in ("embedding", "tokens"):
        sizes = [size for name in _HIDDEN_SIZES if isinstance(size := config.get(name), int)]
        vector = Array(FLOAT, (sizes[0],)) if sizes else Array(FLOAT)
        return vector if port == "embedding" else Array(vector)
    return found


def _with_lengths(node: NodeView[HuggingFaceOptions], found: Mapping[str, Type]) -> dict[str, Type | None]:
    """Allows the declaration of a list of numbers with its length: every batch is checked against it."""
    declared = {output.column: output.type for output in node.spec.outputs}
    return {column: _as_declared(type_, declared.get(column)) for column, type_ in found.items()}


def _as_declared(type_: Type, declared: Type | None) -> Type:
    is_list = isinstance(type_, Array) and type_.shape is None
    if is_list and isinstance(type_, Array) and isinstance(declared, Array) and len(row_shape(declared)) == 1:
        return Array(type_.element, declared.shape)
    return type_


def parts_of(task: Task) -> set[str]:
    """Returns what a task needs beside the model's weights: what makes numbers of its inputs, and texts of numbers."""
    given = {port.media: port.required for port in task.inputs.values()}
    found = {TOKENIZER} if reads_texts(task) or "text" in task.outputs else set()
    if given.get(IMAGE):
        found.add(IMAGES)
    if given.get(SOUND):
        found.add(SOUNDS)
    return found


def reads_texts(task: Task) -> bool:
    """Whether one of a task's inputs is a text, or a list of texts."""
    return any(port.media in (TEXT, TEXTS) for port in task.inputs.values())


def task_of(node: NodeView[HuggingFaceOptions]) -> Task | None:
    """Returns a node's task."""
    return TASKS.get(str(node.options.task))
