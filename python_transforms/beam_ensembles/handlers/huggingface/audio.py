"""Sound files -> samples as a model takes them."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from beam_ensembles.errors import NodeError
from beam_ensembles.handlers.support.sound_files import UnknownSound, decode_sound

_MOST_SECONDS: Final = 4 * 3_600.0
_IN_PARTS: Final = ("chunk_length_s", "return_timestamps")
"""Arguments with which a long sound is heard in parts."""


def samples_of(sound: Any, rate: int, name: str) -> Any:
    """Returns a sound as a model takes it.

    Args:
        sound: A sound file's bytes, or samples.
        rate: The model's sampling rate in Hz.
        name: The column's name, for messages.

    Returns:
        Samples ``[n]``, -1 to 1, one channel; the bytes themselves where only ffmpeg may know them, and is there:
        transformers calls it.

    Raises:
        NodeError: ``wrong_value`` where they are no sound.
    """
    if not isinstance(sound, bytes):
        return sound
    try:
        return decode_sound(sound, rate, name, _MOST_SECONDS)
    except UnknownSound:
        if shutil.which("ffmpeg") is None:
            raise
        return sound


def check_sounds(extractor: Any, sounds: Sequence[Any], args: Mapping[str, Any] | None = None) -> None:
    """Checks that a model hears sounds to their end: some are made for so many seconds, and cut what is longer.

    Args:
        extractor: The model's feature extractor.
        sounds: Samples; a sound file's bytes, which only transformers can decode, are left alone.
        args: The arguments of a task that can hear a sound in parts; None where it cannot.

    Raises:
        NodeError: ``wrong_value``: one is longer than the model hears, empty, or no number.
    """
    most = (
        None if args is not None and any(args.get(name) for name in _IN_PARTS) else _most_samples(extractor)
    )
    for sound in sounds:
        if isinstance(sound, bytes):
            continue
        if len(sound) == 0:
            raise NodeError("wrong_value", "a sound is empty")
        if not np.isfinite(sound).all():
            raise NodeError("wrong_value", "a sound holds samples that are no numbers (NaN or infinite)")
        if most is not None and len(sound) > most:
            rate = extractor.sampling_rate
            way = (
                "cut it before"
                if args is None
                else "set 'chunk_length_s' or 'return_timestamps' in inference_args"
            )
            text = f"a sound has {len(sound) / rate:.1f} s; the model hears {most / rate:.1f} s: {way}"
            raise NodeError("wrong_value", text)


def _most_samples(extractor: Any) -> int | None:
    """Returns how many samples a feature extractor takes before it cuts: Whisper's and AST's do."""
    found = getattr(extractor, "n_samples", None) or getattr(extractor, "nb_max_samples", None)
    if found is None and type(extractor).__name__ == "ASTFeatureExtractor":
        frames = extractor.max_length  # of 25 ms, one each 10 ms
        found = int(extractor.sampling_rate * (0.025 + 0.01 * (frames - 1)))
    return found if isinstance(found, int) else None
