"""What a folder of sentence-transformers says about its vectors: pooling, length, prompt, lower case, longest text.

Files have been called and written in several ways. Up to sentence-transformers 5 a pooling was a key of its own
(``pooling_mode_cls_token: true``); since 6 it is a word (``pooling_mode: cls``).
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from beam_ensembles.errors import ModelFormatError, listed
from beam_ensembles.files.bounded_json import load_json
from beam_ensembles.handlers.huggingface.embeddings import POOLINGS
from beam_ensembles.handlers.huggingface.hub import Place

_POOLINGS: Final = {"lasttoken": "last"}
"""Their words for poolings that the task calls otherwise."""
_FLAGS: Final = {
    "pooling_mode_cls_token": "cls",
    "pooling_mode_max_tokens": "max",
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_mean_sqrt_len_tokens": "mean_sqrt_len_tokens",
    "pooling_mode_weightedmean_tokens": "weightedmean",
    "pooling_mode_lasttoken": "lasttoken",
}
_SETTINGS: Final = tuple(
    f"sentence_{name}_config.json"
    for name in ("bert", "roberta", "distilbert", "camembert", "albert", "xlm-roberta", "xlnet")
)
"""Where the length and the case of texts are; the first one that is there counts."""
_ORDERS: Final = (["Transformer"], ["Transformer", "Pooling"], ["Transformer", "Pooling", "Normalize"])
_IS_NAME: Final = re.compile(r"\w[\w.-]*")
_READS_TEXTS: Final = {"method": "forward", "method_output_name": "last_hidden_state"}

Read = Callable[[str], Any]


@dataclasses.dataclass(frozen=True, slots=True)
class SentenceVectors:
    """What a folder says about its vectors.

    Attributes:
        arguments: The task's arguments: ``pooling``, ``normalize`` and ``prompt``, as far as the folder says them.
        longest: How many tokens of a text it reads; None where it does not say.
        lower_case: Whether texts are put in lower case, whatever the tokenizer does.
    """

    arguments: Mapping[str, Any]
    longest: int | None = None
    lower_case: bool = False


def said_by(place: Place, args: Mapping[str, Any]) -> SentenceVectors:
    """Returns how a sentence-transformers model makes one vector of a text, where its folder says that.

    Args:
        place: The model.
        args: The node's arguments; what they say need not be known.

    Raises:
        ModelFormatError: It does something to the vector that the task does not know.
    """

    def read(name: str) -> Any:
        from transformers.utils.hub import cached_file

        found = cached_file(
            place.name, name, revision=place.revision, _raise_exceptions_for_missing_entries=False,
            _raise_exceptions_for_connection_errors=False,
        )  # fmt: skip
        if found is None:
            return None
        with open(found, "rb") as file:
            return load_json(file)

    try:
        return _said(read, args)
    except ModelFormatError as exc:
        raise ModelFormatError(f"'{place.name}': {exc}, or run the model in code of your own") from exc


def _said(read: Read, args: Mapping[str, Any]) -> SentenceVectors:
    modules = [module for module in read("modules.json") or [] if isinstance(module, Mapping)]
    names = [str(module.get("type", "")).rpartition(".")[2] for module in modules]
    if modules and names not in _ORDERS:
        known = listed(_ORDERS[-1])
        raise ModelFormatError(
            f"sentence-transformers calls {listed(names)} one after the other; the task knows {known}, in this "
            "order: save these alone"
        )
    paths = {
        name: str(module.get("path") or f"1_{name}") for name, module in zip(names, modules, strict=True)
    }
    pooling = _mapping(read(f"{_inside(paths.get('Pooling', '1_Pooling'))}/config.json"))
    own: dict[str, Any] = {}
    if "pooling" not in args and pooling:
        own["pooling"] = _pooling(pooling)
    if "Normalize" in names:
        own["normalize"] = True
    prompt = _prompt(_mapping(read("config_sentence_transformers.json")))
    if prompt and "prompt" not in args:
        own["prompt"] = prompt
        if pooling.get("include_prompt") is False:
            raise ModelFormatError(f"it leaves its prompt {prompt!r} out of the average; set 'prompt'")
    settings = next((_mapping(found) for name in _SETTINGS if (found := read(name))), {})
    _check_settings(settings)
    longest = settings.get("max_seq_length")
    return SentenceVectors(
        own, longest if isinstance(longest, int) else None, settings.get("do_lower_case") is True
    )


def _inside(path: str) -> str:
    """Returns the name of a folder within the model's.

    Raises:
        ModelFormatError: It is a path to somewhere else.
    """
    if not _IS_NAME.fullmatch(path):
        raise ModelFormatError(
            f"modules.json names {path!r}, which is not a folder in it; save the model again"
        )
    return path


def _pooling(config: Mapping[str, Any]) -> str:
    said = config.get("pooling_mode")
    if said is None:
        flags = [mode for key, mode in _FLAGS.items() if config.get(key)]
        others = [key for key, value in config.items() if key.startswith("pooling_mode_") and value]
        said = flags + [key for key in others if key not in _FLAGS] or ["mean"]
    modes = [_POOLINGS.get(str(mode), str(mode)) for mode in (said if isinstance(said, list) else [said])]
    if len(modes) > 1 or modes[0] not in POOLINGS:
        known = listed(POOLINGS)
        raise ModelFormatError(
            f"it pools by {listed(modes)}, which the task does not know; set 'pooling' ({known})"
        )
    return modes[0]


def _prompt(config: Mapping[str, Any]) -> str:
    """Returns what sentence-transformers puts in front of each text where nobody says otherwise."""
    name = config.get("default_prompt_name")
    found = _mapping(config.get("prompts")).get(name) if isinstance(name, str) else None
    return found if isinstance(found, str) else ""


def _check_settings(settings: Mapping[str, Any]) -> None:
    texts = _mapping(_mapping(settings.get("modality_config")).get("text"))
    others = [value for key, value in _READS_TEXTS.items() if texts.get(key, value) != value]
    made = settings.get("transformer_task", "feature-extraction")
    if others or made != "feature-extraction":
        what = texts.get("method_output_name") if others else made
        raise ModelFormatError(
            f"its vectors are made of '{what}'; the task knows those of 'last_hidden_state'"
        )


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def lower_case(tokenizer: Any) -> None:
    """Have a tokenizer put texts in lower case before all else, as sentence-transformers does.

    Raises:
        ModelFormatError: It is one whose steps cannot be changed.
    """
    from tokenizers.normalizers import Lowercase, Sequence

    if not tokenizer.is_fast:
        raise ModelFormatError("its texts are in lower case ('do_lower_case'), which its tokenizer cannot do")
    backend = tokenizer.backend_tokenizer
    steps = [Lowercase()] if backend.normalizer is None else [Lowercase(), backend.normalizer]
    backend.normalizer = Sequence(steps)
