"""Sound files -> samples: WAV is read here; anything else is ffmpeg's work, as in transformers."""

from __future__ import annotations

import io
import wave
from typing import Any, Final

import numpy as np

_FULL_SCALE: Final = {1: 1 << 7, 2: 1 << 15, 4: 1 << 31}
"""Bytes of a sample -> what full loudness is; WAV's own 8-bit samples have no sign."""


def samples_of(sound: Any, rate: int) -> Any:
    """Gives a sound as a model takes it.

    Args:
        sound: A sound file's bytes, or samples.
        rate: The model's sampling rate in Hz.

    Returns:
        Samples ``[n]``, -1 to 1, one channel; the bytes themselves where they are no WAV of that rate: transformers
        has ffmpeg decode and resample them.
    """
    return sound if not isinstance(sound, bytes) else _wave_samples(sound, rate)


def _wave_samples(data: bytes, rate: int) -> Any:
    try:
        with wave.open(io.BytesIO(data)) as file:
            width, channels = file.getsampwidth(), file.getnchannels()
            if file.getframerate() != rate or width not in _FULL_SCALE:
                return data
            frames = file.readframes(file.getnframes())
    except (wave.Error, EOFError):
        return data
    values = np.frombuffer(frames, dtype=np.uint8 if width == 1 else f"<i{width}").astype(np.float32)
    if width == 1:
        values -= _FULL_SCALE[width]
    return (values / _FULL_SCALE[width]).reshape(-1, channels).mean(axis=1)
