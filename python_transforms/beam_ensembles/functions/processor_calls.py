"""What a ``processor`` node does to a batch: texts, images and sounds to numbers, and ids to texts."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from beam_ensembles.errors import NodeError, listed
from beam_ensembles.graph.kinds import CheckedNode, Columns
from beam_ensembles.graph.options import option
from beam_ensembles.handlers.huggingface.audio import check_sounds
from beam_ensembles.handlers.huggingface.hub import HubOptions
from beam_ensembles.handlers.huggingface.lengths import MAX_LENGTH, TRUNCATION, check_texts
from beam_ensembles.handlers.huggingface.media import read_images
from beam_ensembles.handlers.support.results import to_columns
from beam_ensembles.handlers.support.sound_files import check_together, decode_sound, sample_bytes
from beam_ensembles.types import Array, row_shape

CALL: Final = "__call__"
DECODE: Final = "batch_decode"
TEXT_PORT: Final = "text"
_CUT: Final = "cut it with 'truncation: true' in call_args"
IDS: Final = ("attention_mask", "input_ids", "special_tokens_mask", "token_type_ids")
"""What a tokenizer gives: whole numbers, one a token."""


class ProcessorOptions(HubOptions):
    """What a processor takes."""

    call: str = option(CALL, "The processor's method to call.", choices=(CALL, DECODE))
    call_args: Mapping[str, Any] = option({}, "Arguments of the call, such as padding and max_length.")


@dataclasses.dataclass(frozen=True, slots=True)
class Decoder:
    """Ids to texts: one per row, or as many as the row has lists of ids.

    Attributes:
        node: The node.
        tokenizer: What decodes.
    """

    node: CheckedNode[ProcessorOptions]
    tokenizer: Any

    def __call__(self, columns: Columns) -> Columns:
        """Decodes all rows' ids in one call."""
        values = columns[self.node.spec.columns[0]]
        args = {"skip_special_tokens": True, **self.node.options.call_args}
        nested = isinstance(next(iter(self.node.outputs.values())), Array)
        rows = [list(row) for row in values] if nested else [[row] for row in values]
        texts = iter(self.tokenizer.batch_decode([ids for row in rows for ids in row], **args))
        found = [[next(texts).strip() for _ in row] for row in rows]
        answers = found if nested else [row[0] for row in found]
        return to_columns(self.node, dict.fromkeys(self.node.outputs, answers), len(values))


@dataclasses.dataclass(frozen=True, slots=True)
class Encoder:
    """Texts, images and sounds to numbers.

    Attributes:
        node: The node.
        processor: The loaded processor.
        ports: The column of each port.
        arguments: Those of the call.
        rate: The sampling rate that sounds must have, in Hz.
        takes_sounds_alone: Whether it is a feature extractor, which calls its only argument something else.
        nested: Whether each row has a list of texts.
    """

    node: CheckedNode[ProcessorOptions]
    processor: Any
    ports: Mapping[str, str]
    arguments: Mapping[str, Any]
    rate: int | None
    takes_sounds_alone: bool
    nested: bool

    @classmethod
    def of(cls, node: CheckedNode[ProcessorOptions], processor: Any, *, takes_sounds_alone: bool) -> Encoder:
        """Creates the member of a node of its loaded processor."""
        inputs = node.spec.inputs
        ports = dict(zip(inputs.ports or (), inputs.columns, strict=True)) if inputs is not None else {}
        text = node.inputs.get(ports.get(TEXT_PORT, ""))
        extractor = getattr(processor, "feature_extractor", processor)
        return cls(
            node,
            processor,
            ports,
            {**_fixed_length(node), **node.options.call_args},
            getattr(extractor, "sampling_rate", None),
            takes_sounds_alone,
            isinstance(text, Array),
        )

    def __call__(self, columns: Columns) -> Columns:
        """Processes all rows in one call, or each by itself where it has a list of texts."""
        given = {port: self._read(port, columns[column], column) for port, column in self.ports.items()}
        rows = len(next(iter(given.values())))
        wanted = [output.port or output.column for output in self.node.spec.outputs]
        if self.nested:
            parts = [self._of_row(given, at, wanted) for at in range(rows)]
            found: Mapping[str, Sequence[Any]] = {port: [part[port] for part in parts] for port in wanted}
        else:
            found = self._call(given, wanted, self.arguments)
        answers = {
            output.column: _items(found[port])
            for output, port in zip(self.node.spec.outputs, wanted, strict=True)
        }
        return to_columns(self.node, answers, rows)

    def bytes_made(self, columns: Columns) -> list[int]:
        """Returns about how many bytes of each row's sound the features have: of most models those of its samples."""
        column = self.ports.get("audio")
        return [] if column is None else sample_bytes(columns[column], self.rate or 0)

    def _read(self, port: str, values: Iterable[Any], column: str) -> list[Any]:
        if port == "images":
            return read_images(values, column)
        if port == "audio":
            values = list(values)
            check_together(values, self.rate or 0, column)
            return [self._samples(value, column) for value in values]
        return list(values)

    def _samples(self, value: Any, column: str) -> Any:
        found = decode_sound(value, self.rate or 0, column) if isinstance(value, bytes) else value
        return np.array(found, dtype=np.float32)

    def _of_row(self, given: Mapping[str, list[Any]], at: int, wanted: Sequence[str]) -> dict[str, Any]:
        """Processes a row with its list of texts: ids for each of them, one of everything else."""
        row = {port: values[at : at + 1] for port, values in given.items() if port != TEXT_PORT}
        texts = list(given[TEXT_PORT][at])
        if texts:
            found = self._call({**row, TEXT_PORT: texts}, wanted, {"padding": True, **self.arguments})
            return {port: found[port] if port in IDS else found[port][0] for port in wanted}
        others = [port for port in wanted if port not in IDS]
        found = self._call(row, others, self.arguments) if others else {}
        return {port: [] if port in IDS else found[port][0] for port in wanted}

    def _call(
        self, given: Mapping[str, list[Any]], wanted: Sequence[str], arguments: Mapping[str, Any]
    ) -> Mapping[str, Sequence[Any]]:
        parts: dict[str, Any] = dict(given)
        self._check(given)
        if "audio" in parts and self.rate is not None:
            parts["sampling_rate"] = self.rate
        if self.takes_sounds_alone:
            found = self.processor(parts.pop("audio"), **parts, **arguments)
        else:
            found = self.processor(**parts, **arguments)
        for port in wanted:
            if port not in found:
                raise NodeError(
                    "bad_output", f"the processor returned no '{port}' (it returned: {listed(list(found))})"
                )
        return {port: found[port] for port in wanted}

    def _check(self, given: Mapping[str, list[Any]]) -> None:
        """Checks that no text and no sound would be cut, unless the node says that it may be."""
        said = self.node.options.call_args
        if TEXT_PORT in given:
            texts, pairs = given[TEXT_PORT], given.get("text_pair")
            tokenizer = getattr(self.processor, "tokenizer", self.processor)
            both = texts if pairs is None else list(zip(texts, pairs, strict=True))
            most = _fixed_length(self.node).get(MAX_LENGTH, said.get(MAX_LENGTH))
            check_texts(tokenizer, both, said, _CUT, most=most, needs_tokens=False)
        if "audio" in given and TRUNCATION not in said:
            check_sounds(getattr(self.processor, "feature_extractor", self.processor), given["audio"])


def _items(values: Sequence[Any]) -> list[Any]:
    """Creates arrays of PyTorch's tensors; lists stay as they are."""
    return [np.asarray(value) if hasattr(value, "shape") else value for value in values]


def _fixed_length(node: CheckedNode[ProcessorOptions]) -> dict[str, Any]:
    """Returns the arguments that make every text as long as the column of its ids is declared."""
    for output in node.spec.outputs:
        type_ = node.outputs[output.column]
        while isinstance(type_, Array) and type_.shape is None and isinstance(type_.element, Array):
            type_ = type_.element
        if (output.port or output.column) in IDS and row_shape(type_):
            return {"padding": "max_length", "truncation": True, "max_length": row_shape(type_)[0]}
    return {}
