"""Sound files -> samples, by libsndfile: WAV, FLAC, Ogg (Vorbis, Opus), MP3, AIFF; no program is started."""

from __future__ import annotations

import io
import math
from collections.abc import Iterable, Iterator
from typing import Any, Final

import numpy as np

from beam_ensembles.errors import NodeError, TooLargeTogether
from beam_ensembles.limits import MOST_SAMPLES, SAMPLES_AT_ONCE
from beam_ensembles.messages.foreign_errors import text_of

SOUND_FORMATS: Final = ("WAV", "WAVEX", "RF64", "FLAC", "OGG", "MP3", "AIFF")
"""What bytes may be, as libsndfile calls it; its other formats are hardly ever sounds of rows."""

MOST_SECONDS: Final = 600.0
"""The longest sound that is decoded where nobody says otherwise."""

LOWEST_RATE: Final = 1_000
"""In Hz. Of a lower rate a file of a kilobyte would be ten minutes, and millions of samples at the rate of a model."""

_NAMES: Final = "WAV, FLAC, Ogg, MP3, AIFF"
_BLOCK: Final = 1 << 16
_SLACK: Final = 64
_SAMPLE_BYTES: Final = 4
_OPEN_END: Final = (0, 0xFFFFFFFF)
_LAST_PAGE: Final = 4
_UNKNOWN: Final = (1 << 63) - 1

Samples = np.ndarray[Any, np.dtype[np.float32]]


class UnknownSound(NodeError):
    """The bytes are of no format that can be read here."""


def decode_sound(
    data: bytes, rate: int, name: str, most_seconds: float = MOST_SECONDS, most_samples: int = MOST_SAMPLES
) -> Samples:
    """Decodes a sound, a block at a time, so that what it takes is known before.

    Args:
        data: A file of one of ``SOUND_FORMATS``.
        rate: The sampling rate wanted, in Hz; soxr makes it of any other.
        name: The column's name, for messages.
        most_seconds: The longest sound that is decoded.
        most_samples: How many samples it may become; fewer than ``MOST_SAMPLES`` are what its batch has left.

    Returns:
        Samples ``[n]``, -1 to 1 (a loud MP3 may go over that), the mean of the file's channels.

    Raises:
        NodeError: ``wrong_value`` where it is not a whole sound, or too long; an ``UnknownSound`` where it
            is of no such format.
    """
    try:
        with _opened(data, name) as file:
            if _is_cut(data):
                raise NodeError("wrong_value", _text(name, "it is cut off"))
            if file.samplerate < LOWEST_RATE:
                text = f"it has {file.samplerate} samples a second; the least is {LOWEST_RATE}"
                raise NodeError("wrong_value", _text(name, text))
            if file.frames == _UNKNOWN:  # soundfile seeks, which libsndfile then cannot
                raise NodeError("wrong_value", _text(name, "its header does not say how long it is"))
            if file.frames > math.floor(most_seconds * file.samplerate):
                text = f"it is longer than the {most_seconds:g} seconds that are allowed"
                raise NodeError("wrong_value", _text(name, text))
            count = _count(file, rate)
            if count > most_samples:
                raise NodeError("wrong_value", _text(name, _too_many(count, rate, most_samples)))
            return _resampled(_blocks(file, name), file.samplerate, rate, count)
    except (RuntimeError, ValueError) as exc:  # what libsndfile and soxr raise
        raise NodeError("wrong_value", _text(name, text_of(exc).rstrip("."))) from exc


def count_samples(data: Any, rate: int) -> int:
    """Returns how many samples a sound file is at a rate, by its header; 0 for anything else.

    It never has more: soundfile reads no further than the header says.
    """
    import soundfile

    if not isinstance(data, bytes):
        return 0
    try:
        with soundfile.SoundFile(io.BytesIO(data)) as file:
            return 0 if file.frames == _UNKNOWN or not file.samplerate else _count(file, rate)
    except RuntimeError:  # decoding says why
        return 0


def sample_bytes(values: Iterable[Any], rate: int) -> list[int]:
    """Returns how many bytes the samples of each sound file have at a rate, by its header; 0 for anything else."""
    return [_SAMPLE_BYTES * count_samples(value, rate) for value in values]


def check_together(values: Iterable[Any], rate: int, name: str) -> None:
    """Checks that the sounds of several rows can be decoded at once.

    Args:
        values: One a row: sound files, or samples, which are no larger than they are.
        rate: The sampling rate that they are decoded to, in Hz.
        name: The column's name, for messages.

    Raises:
        TooLargeTogether: They have too many samples together.
    """
    counts = [count_samples(value, rate) for value in values]
    if len(counts) > 1 and sum(counts) > SAMPLES_AT_ONCE:
        text = (
            f"'{name}' holds sounds of {sum(counts)} samples together; the most at once is {SAMPLES_AT_ONCE}"
        )
        raise TooLargeTogether("wrong_value", text)


def _count(file: Any, rate: int) -> int:
    return math.ceil(int(file.frames) * rate / int(file.samplerate))


def _text(name: str, reason: str) -> str:
    return f"'{name}' holds no sound that can be read: {reason}"


def _opened(data: bytes, name: str) -> Any:
    import soundfile

    try:
        file = soundfile.SoundFile(io.BytesIO(data))
    except soundfile.LibsndfileError as exc:
        raise UnknownSound("wrong_value", _text(name, f"it is not a whole file of {_NAMES}")) from exc
    if file.format not in SOUND_FORMATS:
        file.close()
        raise UnknownSound("wrong_value", _text(name, f"{file.format} is none of {_NAMES}"))
    return file


def _blocks(file: Any, name: str) -> Iterator[Samples]:
    """Yields a file's samples in blocks, one channel; soundfile reads no more than the header says."""
    left = file.frames
    while len(block := file.read(_BLOCK, dtype="float32", always_2d=True)):
        left -= len(block)
        yield block.mean(axis=1)
    if left > 0:
        raise NodeError("wrong_value", _text(name, "it is cut off"))


def _too_many(count: int, rate: int, most: int) -> str:
    left = "" if most == MOST_SAMPLES else f", and those before it in its batch leave {most}"
    return f"it is {count} samples at {rate} a second; the most is {MOST_SAMPLES}{left}"


def _resampled(blocks: Iterator[Samples], rate: int, wanted: int, count: int) -> Samples:
    """Returns blocks at another rate as one array.

    Args:
        blocks: The samples.
        rate: Their rate in Hz.
        wanted: The rate wanted.
        count: How many samples there will be, within the resampler's rounding.
    """
    found = np.empty(count + _SLACK, np.float32)  # pages that nobody writes take no memory
    end = 0
    for part in blocks if rate == wanted else _stream(blocks, rate, wanted):
        found[end : end + len(part)] = part
        end += len(part)
    return found[:end]


def _stream(blocks: Iterator[Samples], rate: int, wanted: int) -> Iterator[Samples]:
    import soxr

    stream = soxr.ResampleStream(rate, wanted, 1, dtype="float32")
    for block in blocks:
        yield stream.resample_chunk(block)
    yield stream.resample_chunk(np.empty(0, np.float32), last=True)


def _is_cut(data: bytes) -> bool:
    """Returns whether a file is shorter than it says; libsndfile takes what there is of these formats."""
    if data[:4] in (b"RIFF", b"FORM"):
        size = int.from_bytes(data[4:8], "little" if data[:4] == b"RIFF" else "big")
        return size not in _OPEN_END and size > len(data) + _SLACK
    if data[:4] == b"OggS":
        page = data.rfind(b"OggS")
        return len(data) < page + 6 or not data[page + 5] & _LAST_PAGE
    return False
