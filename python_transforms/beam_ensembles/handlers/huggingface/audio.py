"""Sound files -> samples as a model takes them."""

from __future__ import annotations

import shutil
from typing import Any, Final

from beam_ensembles.handlers.sounds import UnknownSound, decode_sound

_MOST_SECONDS: Final = 4 * 3_600.0


def samples_of(sound: Any, rate: int, name: str) -> Any:
    """Gives a sound as a model takes it.

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
