"""Loads a node that names a task: through Beam's handler of pipelines, or of models where there is no pipeline."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Mapping
from typing import Any

from beam_ensembles.errors import (
    EnsembleError,
    InvalidEnsemble,
    NodeError,
    Problem,
    listed,
)
from beam_ensembles.files.ensemble_files import Files
from beam_ensembles.graph.kinds import CheckedNode, Columns, Member, NodeView
from beam_ensembles.graph.output_ports import ports_of
from beam_ensembles.handlers.huggingface import hub
from beam_ensembles.handlers.huggingface.arguments import BATCH_SIZE
from beam_ensembles.handlers.huggingface.checks import (
    check_model,
    input_ports,
    meanings,
    named_classes,
    reads_texts,
)
from beam_ensembles.handlers.huggingface.drawing import drawing, parted_seeds, seeds_of
from beam_ensembles.handlers.huggingface.lengths import CUT, TRUNCATION, check_texts, lift_limit, settle_limit
from beam_ensembles.handlers.huggingface.loaded import load_parts
from beam_ensembles.handlers.huggingface.loaded_weights import check_adapter, noted_weights
from beam_ensembles.handlers.huggingface.options import HuggingFaceOptions
from beam_ensembles.handlers.huggingface.padding_effect import changes_texts
from beam_ensembles.handlers.huggingface.pipelines import texts_read
from beam_ensembles.handlers.huggingface.sentence_vectors import SentenceVectors, lower_case, said_by
from beam_ensembles.handlers.huggingface.tasks import TASKS, Task
from beam_ensembles.handlers.huggingface.tokenizer_checks import check_tokenizer, tokenizer_of
from beam_ensembles.handlers.pytorch.device import loaded_on_device, module_of
from beam_ensembles.handlers.pytorch.embedding_guard import guarded
from beam_ensembles.handlers.support import member
from beam_ensembles.handlers.support.fitting_rows import FittingRows, release
from beam_ensembles.handlers.support.results import to_columns
from beam_ensembles.messages.device_errors import is_out_of_memory

Given = Mapping[str, list[Any]]
"""One list per port; by ``drawing.SEEDS`` the rows' seeds, where the node has one."""


@dataclasses.dataclass(slots=True)
class _Call:
    """Beam's ``inference_fn``: the batch is one list per port, the answer one list an output.

    Attributes:
        task: The task to call.
        rows: How many rows go through the model at once.
        result: Beam's class of a prediction.
        parts: What the task takes: the pipeline, or the model with its processor.
        limit: How many tokens the model reads, where the tokenizer was told not to cut; else the tokenizer knows.
        fitting: What earlier batches have shown of the rows that fit in memory at once.
    """

    task: Task
    rows: int
    result: Any
    parts: Any = None
    limit: int | None = None
    fitting: FittingRows = dataclasses.field(default_factory=lambda: FittingRows(""))

    def of_pipeline(self, batch: list[Given], _: Any, args: dict[str, Any]) -> list[Any]:
        inputs, seeds = parted_seeds(batch[0])
        try:
            if seeds is None:
                return [self._within_memory(self.parts, inputs, args)]
            return [self._row_by_row(inputs, seeds, args)]
        except (IndexError, RuntimeError):  # what PyTorch says of a token whose place the model does not know
            if "text" in inputs and self.parts.tokenizer is not None:
                check_texts(self.parts.tokenizer, texts_read(inputs, args), {}, CUT, most=self.limit)
            raise

    def _row_by_row(self, inputs: Given, seeds: list[int], args: dict[str, Any]) -> Mapping[str, list[Any]]:
        """Runs a pipeline on a row after the other: which rows it puts together when it draws is its own affair."""
        parts = []
        for at, seed in enumerate(seeds):
            row = {port: values[at : at + 1] for port, values in inputs.items()}
            with drawing([seed]):
                parts.append(self.task.run(self.parts, row, args, 1))
        return {port: [item for part in parts for item in part[port]] for port in parts[0]}

    def of_model(self, batch: list[Given], _: Any, device: str, args: dict[str, Any], uri: str) -> list[Any]:
        import torch

        inputs, seeds = parted_seeds(batch[0])
        with torch.inference_mode():
            answer = self._within_memory(self.parts, inputs, args, seeds)
        return [self.result(batch[0], answer)]

    def _within_memory(
        self, parts: Any, inputs: Given, args: dict[str, Any], seeds: list[int] | None = None
    ) -> Mapping[str, Any]:
        """Runs the task, with half as many rows at once as often as memory does not hold them.

        Raises:
            NodeError: ``out_of_memory``: one row alone is too large; which one, smaller batches show.
        """
        before = self.fitting.most
        while True:
            rows = self.fitting.limit(self.rows) or self.rows
            try:
                given = parts if seeds is None else parts.with_seeds(seeds)
                answer = self.task.run(given, inputs, args, rows)
            except Exception as error:
                if isinstance(error, EnsembleError) or not is_out_of_memory(error):
                    raise
            else:
                if len(next(iter(inputs.values()))) >= rows:
                    self.fitting.went_well(rows)
                return answer
            release()  # here, where no traceback holds the tensors of the failed call any more
            if rows == 1:
                self.fitting.restore(before)
                raise NodeError("out_of_memory", "one row alone does not fit in the memory of the device")
            self.fitting.failed(rows)


def load_task(node: CheckedNode[HuggingFaceOptions], beam: Any, transformers: Any) -> Member:
    """Loads a checked node that names a task.

    Args:
        node: The node.
        beam: Beam's module of Hugging Face's handlers.
        transformers: The library.

    Raises:
        EnsembleError: The model cannot be loaded, or is made for something else.
    """
    task = TASKS[str(node.options.task)]
    args = member.inference_args(node)
    call = _Call(
        task,
        args.pop(BATCH_SIZE, task.rows),
        beam.PredictionResult,
        fitting=FittingRows(node.spec.name),
    )
    if args.get(TRUNCATION, "") is None:
        del args[TRUNCATION]
    if node.options.samples is not None:
        args["num_return_sequences"] = node.options.samples
    with hub.opened(node) as place:
        if task.model_class is None:
            handler = _pipeline(node, beam, place, call)
        else:
            handler = _model(node, beam, getattr(transformers, task.model_class), place, call)
        handler.set_environment_vars()
        check_adapter(place.name)
        with noted_weights(transformers) as weights:
            model, device = loaded_on_device(node, functools.partial(_loaded, handler))
        config = getattr(model, "model", model).config
        _compare(node, task, config.to_dict())
        weights.check(pooled="pooling" not in task.arguments)
        if task.model_class is None:
            call.parts = model
        else:
            reads_images = "image" in task.inputs
            call.parts = load_parts(
                transformers, model, place.name, place.arguments, reads_images=reads_images
            )
        vectors = said_by(place, args) if "pooling" in task.arguments else SentenceVectors({})
        args = {**vectors.arguments, **args}
        tokenizer = tokenizer_of(call.parts)
        if vectors.lower_case:
            lower_case(tokenizer)
        settle_limit(getattr(model, "model", model), tokenizer, vectors.longest)
        if tokenizer is not None and args.get(TRUNCATION) in (False, "do_not_truncate"):
            call.limit = lift_limit(tokenizer)
        if tokenizer is not None:
            check_tokenizer(tokenizer, config if reads_texts(task) else None, place.name)
        if task.pads and call.rows > 1 and changes_texts(getattr(model, "model", model), tokenizer):
            call.rows = 1
        _name_classes(node, task, config)
        config.label2id = {name: at for at, name in config.id2label.items()}  # zero-shot tasks look there
    loaded = member.BeamMember(
        handler,
        model,
        args,
        read=_reader(node, task),
        write=_writer(node, task),
        meanings=meanings(node, task, config.to_dict()),
    )
    return guarded(loaded, module_of(model), device)


def _loaded(handler: Any, device: Any) -> Any:
    """Loads a pipeline or a model on the CPU, and moves it; Beam's handlers would take the CPU without an error."""
    import torch

    model = handler.load_model()
    if isinstance(model, torch.nn.Module):
        return model.to(device)
    model.model.to(device)
    model.device = device
    return model


def _name_classes(node: CheckedNode[HuggingFaceOptions], task: Task, config: Any) -> None:
    """Names the classes of a model by the node's ``labels``, where its configuration only numbers them.

    Raises:
        InvalidEnsemble: ``bad_labels``: the model has other classes, or another number of them.
    """
    labels = node.options.labels
    if labels is None or "probabilities" not in task.outputs:
        return
    names = named_classes(config.to_dict())
    if names is None and len(labels) == config.num_labels:
        config.id2label = dict(enumerate(labels))
    elif names != list(labels):
        has = f"are {listed(names)}, in this order" if names else f"are {config.num_labels}"
        problem = Problem(node.spec.path("labels"), "bad_labels", f"the model's classes {has}")
        raise InvalidEnsemble([problem])


def _pipeline(node: CheckedNode[HuggingFaceOptions], beam: Any, place: hub.Place, call: _Call) -> Any:
    settings = member.config(node)
    loading = dict(settings.pop("load_pipeline_args", {}))
    attention = {name: loading.pop(name) for name in ("attn_implementation",) if name in loading}
    arguments = {**place.arguments, **loading}
    arguments.pop("local_files_only", None)  # pipelines take it for an argument of their tokenizer
    arguments["model_kwargs"] = {"use_safetensors": place.needs_safetensors, **attention}
    return beam.HuggingFacePipelineModelHandler(
        str(node.options.task),
        place.name,
        device="CPU",
        inference_fn=call.of_pipeline,
        load_pipeline_args=arguments,
        **settings,
    )


def _model(
    node: CheckedNode[HuggingFaceOptions], beam: Any, model_class: Any, place: hub.Place, call: _Call
) -> Any:
    settings = member.config(node)
    loading = dict(settings.pop("load_model_args", {}))
    return beam.HuggingFaceModelHandlerKeyedTensor(
        place.name,
        model_class,
        "pt",
        "CPU",
        inference_fn=call.of_model,
        load_model_args={**place.arguments, "use_safetensors": place.needs_safetensors, **loading},
        **settings,
    )


def _compare(node: CheckedNode[HuggingFaceOptions], task: Task, config: Mapping[str, Any]) -> None:
    """Compares the model once more with the task: it may have been far away before."""
    problems: list[Problem] = []
    check_model(NodeView(node.spec, node.options, node.inputs, Files(), problems.append), task, config)
    if problems:
        raise InvalidEnsemble(problems)


def _reader(node: CheckedNode[HuggingFaceOptions], task: Task) -> Callable[[Columns], Given]:
    ports = input_ports(node.spec, task)

    def read(columns: Columns) -> Given:
        given = {
            port: task.inputs[port].media.read(columns[column], column) for port, column in ports.items()
        }
        return {**given, **seeds_of(node, columns)}

    return read


def _writer(node: CheckedNode[HuggingFaceOptions], task: Task) -> Callable[[Any, int], Columns]:
    ports = ports_of(node.spec, list(task.outputs))

    def write(answers: Mapping[str, Any], rows: int) -> Columns:
        return to_columns(node, {column: answers[port] for column, port in ports.items()}, rows)

    return write
