"""Models of the Hugging Face hub that are in this machine's cache. Nothing is ever downloaded here."""

from __future__ import annotations

from typing import Any, Final

from beam_ensembles.errors import EnsembleError

_HUB: Final = "hf:"


def is_name(uri: str) -> bool:
    """Whether a URI is the name of a model on the hub, such as ``hf:org/name``."""
    return uri.startswith(_HUB)


def cached_snapshot(uri: str, revision: str | None) -> str:
    """Returns the folder of a model in the cache, as ``from_pretrained`` left it there.

    Args:
        uri: Its name on the hub, such as ``hf:org/name``.
        revision: A commit, tag or branch; None for the main one.

    Raises:
        EnsembleError: It is not there, or what reads the cache is not installed.
    """
    try:
        import huggingface_hub
        from huggingface_hub.errors import LocalEntryNotFoundError
    except ImportError as exc:
        text = f"what knows the hub's cache is not installed: {exc}"
        raise EnsembleError(f"'{uri}': {text}; pip install 'beam-ensembles[huggingface]'") from exc
    hub: Any = huggingface_hub
    name = uri.removeprefix(_HUB)
    try:
        return str(hub.snapshot_download(name, revision=revision, local_files_only=True))
    except LocalEntryNotFoundError as exc:
        at = f" of revision '{revision}'" if revision else ""
        text = f"'{uri}'{at} is not in this machine's cache of the Hugging Face hub (HF_HOME)"
        raise EnsembleError(f"{text}; download it once: hf download {name}") from exc
