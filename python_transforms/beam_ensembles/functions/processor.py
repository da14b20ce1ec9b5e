"""``processor``: what stands before and behind a model of transformers: tokenizers, image and sound processors.

``call: __call__`` makes numbers of texts, images and sounds: the ids of each row have the length of its text, unless
``call_args`` pads them or their column is declared with a length; a row may hold a list of texts, which are padded to
its longest. ``call: batch_decode`` makes texts of ids.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from beam_ensembles.errors import listed, nearest
from beam_ensembles.functions.processor_calls import (
    CALL,
    DECODE,
    IDS,
    TEXT_PORT,
    Decoder,
    Encoder,
    ProcessorOptions,
)
from beam_ensembles.graph.kinds import CheckedNode, Kind, Member, NodeView, Work
from beam_ensembles.graph.output_ports import check_ports, settle
from beam_ensembles.handlers.huggingface import hub, hub_cache
from beam_ensembles.handlers.huggingface.folder_parts import IMAGES, SOUNDS, TOKENIZER, check_parts
from beam_ensembles.handlers.huggingface.media import IMAGE, SOUND, TEXT, TEXTS, Media
from beam_ensembles.handlers.huggingface.tokenizer_checks import check_tokenizer
from beam_ensembles.spec.model import NodeSpec
from beam_ensembles.spec.places import below
from beam_ensembles.types import INT64, STRING, Array, Type, row_shape

PORTS: Final[Mapping[str, Media]] = {"audio": SOUND, "images": IMAGE, "text": TEXT, "text_pair": TEXT}
"""What a processor reads, by port; ``text`` may also be a list of texts."""

ARGUMENTS: Final[Mapping[str, tuple[str, ...]]] = {
    CALL: (
        "add_special_tokens", "do_center_crop", "do_normalize", "do_rescale", "do_resize", "max_length", "padding",
        "return_attention_mask", "return_special_tokens_mask", "return_token_type_ids", "truncation",
    ),
    DECODE: ("clean_up_tokenization_spaces", "skip_special_tokens"),
}  # fmt: skip
"""What ``call_args`` may hold, by call; nothing that names a file."""

_PARTS: Final = {"audio": SOUNDS, "images": IMAGES, "text": TOKENIZER, "text_pair": TOKENIZER}
_DEPTHS: Final = {Array(INT64): STRING, Array(Array(INT64)): Array(STRING)}


class ProcessorKind(Kind[ProcessorOptions]):
    """Runs a processor, tokenizer, image processor or feature extractor of transformers."""

    kind = "apply"
    name = "processor"
    summary = "Makes numbers of texts, images and sounds for a model of transformers, or texts of its ids."
    takes = (
        "Texts, images or sounds by port: text, text_pair, images, audio; one column of ids where 'call' "
        "is batch_decode."
    )
    gives = "The processor's results, by name, such as input_ids; text where 'call' is batch_decode."
    extra = hub.EXTRA
    modules = ("transformers", "torch", "PIL")
    work = Work.ALL_CORES
    options = ProcessorOptions

    def check(self, node: NodeView[ProcessorOptions]) -> Mapping[str, Type | None]:
        """Checks ports and arguments; the types of anything but ids and texts must be declared."""
        model = hub.check_place(node, weights=False)
        call = node.options.call
        if model.folder is not None:
            check_parts(node, model.folder, model.config, _parts(node.spec, call))
        _check_arguments(node, call)
        found = _check_decoding(node) if call == DECODE else _check_encoding(node)
        return settle(node, "signature_mismatch", found)

    def is_on_hub(self, uri: str) -> bool:
        """Whether it is the name of a model on the Hugging Face hub, ``hf:NAME``."""
        return hub_cache.is_name(uri)

    def cached(self, uri: str, revision: str | None) -> str:
        """Returns the folder of its snapshot."""
        return hub_cache.cached_snapshot(uri, revision)

    def load(self, node: CheckedNode[ProcessorOptions]) -> Member:
        """Loads the processor; just the tokenizer where ids are decoded."""
        transformers = hub.transformers_of(node)
        with hub.opened(node) as place:
            if node.options.call == DECODE:
                tokenizer = transformers.AutoTokenizer.from_pretrained(place.name, **place.arguments)
                check_tokenizer(tokenizer, None, place.name)
                return Decoder(node, tokenizer)
            processor = transformers.AutoProcessor.from_pretrained(place.name, **place.arguments)
            if TOKENIZER in _parts(node.spec, CALL):
                check_tokenizer(getattr(processor, "tokenizer", processor), None, place.name)
            return Encoder.of(
                node,
                processor,
                takes_sounds_alone=isinstance(processor, transformers.SequenceFeatureExtractor),
            )


def _parts(node: NodeSpec, call: str) -> set[str]:
    """Returns what the folder must hold for the ports that a node names."""
    ports = node.inputs.ports if node.inputs is not None else None
    found = {_PARTS[port] for port in ports or () if port in _PARTS}
    return {TOKENIZER} if call == DECODE else found


def _check_arguments(node: NodeView[ProcessorOptions], call: str) -> None:
    allowed = ARGUMENTS[call]
    for name in node.options.call_args:
        if name not in allowed:
            text = f"the call takes no argument '{name}'{nearest(name, allowed)} (allowed: {listed(allowed)})"
            node.problem("unknown_option", below("call_args", name), text)


def _check_decoding(node: NodeView[ProcessorOptions]) -> dict[str, Type | None]:
    ports = check_ports(node, [TEXT_PORT])
    inputs = node.spec.inputs
    if inputs is None or not inputs.columns:
        return {}
    if len(inputs.columns) > 1:
        node.problem("unknown_port", inputs.path(1), "ids are decoded from one column: [ids]")
    type_ = node.inputs.get(inputs.columns[0])
    ragged = Array(INT64) if type_ is not None and len(row_shape(type_)) == 1 else type_
    if ragged is None:
        return {}
    if ragged not in _DEPTHS:
        known = "ids are array<int64>, or array<array<int64>> for several texts per row"
        text = f"'{inputs.columns[0]}' is {type_}; {known}"
        node.problem("type_mismatch", inputs.path(0), text)
        return {}
    return dict.fromkeys(ports, _DEPTHS[ragged])


def _check_encoding(node: NodeView[ProcessorOptions]) -> dict[str, Type | None]:
    inputs = node.spec.inputs
    if inputs is None:
        return {}
    if inputs.ports is None:
        names = f"{{text: {inputs.columns[0] if inputs.columns else '...'}}}"
        node.problem(
            "unknown_port", "inputs", f"name what each column is ({listed(list(PORTS))}): inputs: {names}"
        )
        return {}
    nested = False
    for index, (port, column) in enumerate(zip(inputs.ports, inputs.columns, strict=True)):
        media, type_ = PORTS.get(port), node.inputs.get(column)
        if media is None:
            text = f"a processor reads no '{port}' (it reads: {listed(list(PORTS))}){nearest(port, PORTS)}"
            node.problem("unknown_port", inputs.path(index), text)
        elif port == TEXT_PORT and type_ is not None and TEXTS.accepts(type_):
            nested = True
        elif type_ is not None and not media.accepts(type_):
            node.problem(
                "type_mismatch", inputs.path(index), f"'{column}' is {type_}; '{port}' is {media.wanted}"
            )
    return _types(node, nested=nested)


def _types(node: NodeView[ProcessorOptions], *, nested: bool) -> dict[str, Type | None]:
    """Returns the types of ids: whole numbers of any length, or of the declared one."""
    found: dict[str, Type | None] = {}
    for output in node.spec.outputs:
        if (output.port or output.column) not in IDS:
            continue
        fixed = output.type is not None and len(row_shape(output.type)) == 1
        ids = Array(INT64, row_shape(output.type)) if output.type is not None and fixed else Array(INT64)
        found[output.column] = Array(ids) if nested else ids
    return found
