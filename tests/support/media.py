"""Small images and sounds."""

from __future__ import annotations

import io
import wave
from typing import Any

import numpy as np
from PIL import Image


def pixels(seed: int, height: int = 40, width: int = 50) -> np.ndarray[Any, Any]:
    """Creates a picture of noise, ``[height, width, 3]``."""
    return np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8)


def png(picture: np.ndarray[Any, Any]) -> bytes:
    """Encodes a picture."""
    file = io.BytesIO()
    Image.fromarray(picture).save(file, "PNG")
    return file.getvalue()


def noise(seed: int, length: int) -> np.ndarray[Any, Any]:
    """Creates a sound of noise, ``[length]``."""
    return np.random.default_rng(seed).normal(0, 0.1, length).clip(-1, 1).astype(np.float32)


def wav(samples: np.ndarray[Any, Any], rate: int = 16_000, channels: int = 1) -> bytes:
    """Encodes a sound as WAV with 16 bits a sample."""
    file = io.BytesIO()
    with wave.open(file, "wb") as target:
        target.setnchannels(channels)
        target.setsampwidth(2)
        target.setframerate(rate)
        frames = np.repeat((samples * 32_767).astype("<i2"), channels)
        target.writeframes(frames.tobytes())
    return file.getvalue()


def sound(samples: np.ndarray[Any, Any], kind: str, rate: int = 16_000, subtype: str | None = None) -> bytes:
    """Encodes a sound, ``[n]`` or ``[n, channels]``.

    Args:
        samples: The sound.
        kind: The format, as libsndfile calls it: ``FLAC``, ``OGG``, ``MP3``.
        rate: Its samples a second.
        subtype: How they are coded, as libsndfile calls it; None for the format's usual way.
    """
    import soundfile

    file = io.BytesIO()
    soundfile.write(file, samples, rate, format=kind, subtype=subtype)
    return file.getvalue()


def objects(*values: Any) -> np.ndarray[Any, Any]:
    """Creates a column of objects."""
    return np.fromiter(values, dtype=object, count=len(values))
