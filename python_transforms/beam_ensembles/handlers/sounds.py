"""Sound files -> samples, by libsndfile: WAV, FLAC, Ogg (Vorbis, Opus), MP3, AIFF; no program is started."""

from __future__ import annotations

import io
import math
from collections.abc import Iterator
from typing import Any, Final

import numpy as np

from beam_ensembles.errors import NodeError
from beam_ensembles.foreign import text_of

SOUND_FORMATS: Final = ("WAV", "WAVEX", "RF64", "FLAC", "OGG", "MP3", "AIFF")
"""What bytes may be, as libsndfile calls it; its other formats are hardly ever sounds of rows."""

MOST_SECONDS: Final = 600.0
"""The longest sound that is decoded where nobody says otherwise."""

LOWEST_RATE: Final = 1_000
"""In Hz. Of a lower rate a file of a kilobyte would be ten minutes, and millions of samples at the rate of a model."""

_NAMES: Final = "WAV, FLAC, Ogg, MP3, AIFF"
_BLOCK: Final = 1 << 16
_SLACK: Final = 64
_OPEN_END: Final = (0, 0xFFFFFFFF)
_LAST_PAGE: Final = 4
_UNKNOWN: Final = (1 << 63) - 1

Samples = np.ndarray[Any, np.dtype[np.float32]]


class UnknownSound(NodeError):
    """The bytes are of no format that can be read here."""


def decode_sound(data: bytes, rate: int, name: str, most_seconds: float = MOST_SECONDS) -> Samples:
    """Decodes a sound, a block at a time, so that what it takes is known before.

    Args:
        data: A file of one of ``SOUND_FORMATS``.
        rate: The sampling rate wanted, in Hz; soxr makes it of any other.
        name: The column's name, for messages.
        most_seconds: The longest sound that is decoded.

    Returns:
        Samples ``[n]``, -1 to 1 (a loud MP3 may go over that), the mean of the file's channels.

    Raises:
        NodeError: ``wrong_value`` where it is no whole sound, or one that is too long; an ``UnknownSound`` where it
            is of no such format.
    """
    try:
        with _opened(data, name) as file:
            if _is_cut(data):
                raise NodeError("wrong_value", _text(name, "it is cut off"))
            if file.samplerate < LOWEST_RATE:
                text = f"it has {file.samplerate} samples a second; the least is {LOWEST_RATE}"
                raise NodeError("wrong_value", _text(name, text))
            return _resampled(_blocks(file, name, most_seconds), file.samplerate, rate)
    except (RuntimeError, ValueError) as exc:  # what libsndfile and soxr raise
        raise NodeError("wrong_value", _text(name, text_of(exc).rstrip("."))) from exc


def _text(name: str, reason: str) -> str:
    return f"'{name}' holds no sound that can be read: {reason}"


def _opened(data: bytes, name: str) -> Any:
    import soundfile

    try:
        file = soundfile.SoundFile(io.BytesIO(data))
    except soundfile.LibsndfileError as exc:
        raise UnknownSound("wrong_value", _text(name, f"it is no whole file of {_NAMES}")) from exc
    if file.format not in SOUND_FORMATS:
        file.close()
        raise UnknownSound("wrong_value", _text(name, f"{file.format} is none of {_NAMES}"))
    return file


def _blocks(file: Any, name: str, most_seconds: float) -> Iterator[Samples]:
    """Gives a file's samples in blocks, one channel."""
    most = math.floor(most_seconds * file.samplerate)
    announced, left = file.frames, most
    if announced == _UNKNOWN:  # soundfile seeks, which libsndfile then cannot
        raise NodeError("wrong_value", _text(name, "its header does not say how long it is"))
    if announced > most:
        raise _too_long(name, most_seconds)
    while len(block := file.read(min(_BLOCK, left + 1), dtype="float32", always_2d=True)):
        left -= len(block)
        if left < 0:
            raise _too_long(name, most_seconds)
        yield block.mean(axis=1)
    if most - left < announced:
        raise NodeError("wrong_value", _text(name, "it is cut off"))


def _too_long(name: str, most_seconds: float) -> NodeError:
    text = f"it is longer than the {most_seconds:g} seconds that are allowed"
    return NodeError("wrong_value", _text(name, text))


def _resampled(blocks: Iterator[Samples], found: int, wanted: int) -> Samples:
    import soxr

    if found == wanted:
        parts = list(blocks)
    else:
        stream = soxr.ResampleStream(found, wanted, 1, dtype="float32")
        parts = [stream.resample_chunk(block) for block in blocks]
        parts.append(stream.resample_chunk(np.empty(0, np.float32), last=True))
    return np.concatenate(parts) if parts else np.empty(0, np.float32)


def _is_cut(data: bytes) -> bool:
    """Says whether a file is shorter than it says; libsndfile takes what there is of these formats."""
    if data[:4] in (b"RIFF", b"FORM"):
        size = int.from_bytes(data[4:8], "little" if data[:4] == b"RIFF" else "big")
        return size not in _OPEN_END and size > len(data) + _SLACK
    if data[:4] == b"OggS":
        page = data.rfind(b"OggS")
        return len(data) < page + 6 or not data[page + 5] & _LAST_PAGE
    return False
