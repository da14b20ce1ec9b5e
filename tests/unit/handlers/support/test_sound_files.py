"""Sound files to samples: what libsndfile reads, what it does not, and what would not fit."""

from __future__ import annotations

import contextlib
import io
import shutil
from typing import Any

import numpy as np
import pytest
import soundfile
import soxr
from hypothesis import given
from hypothesis import strategies as st

from beam_ensembles.errors import NodeError
from beam_ensembles.handlers.huggingface.audio import samples_of
from beam_ensembles.handlers.support.sound_files import UnknownSound, decode_sound
from tests.support.media import noise, sound, wav

NOISE = noise(1, 20_000)
STEREO = np.stack([noise(2, 9_000), noise(3, 9_000)], axis=1)
FORMATS = [
    ("WAV", None),
    ("WAV", "FLOAT"),
    ("WAV", "PCM_U8"),
    ("FLAC", None),
    ("OGG", "VORBIS"),
    ("OGG", "OPUS"),
    ("MP3", None),
    ("AIFF", None),
]


@pytest.mark.parametrize(("kind", "subtype"), FORMATS)
@pytest.mark.parametrize("rate", [16_000, 8_000])
def test_a_sound_is_what_soundfile_and_soxr_make_of_it(kind: str, subtype: str | None, rate: int) -> None:
    data = sound(STEREO, kind, subtype=subtype)
    whole, own = soundfile.read(io.BytesIO(data), dtype="float32")
    wanted = whole.mean(axis=1)
    found = decode_sound(data, rate, "s")
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, soxr.resample(wanted, own, rate), atol=1e-6)
    assert len(found) == len(STEREO) * rate // 16_000


def test_a_long_sound_is_resampled_without_seams() -> None:
    tone = np.sin(np.arange(300_000) * 0.03).astype(np.float32) * 0.5
    found = decode_sound(wav(tone), 11_025, "s")
    np.testing.assert_allclose(
        found, soxr.resample(np.round(tone * 32_767) / 32_768, 16_000, 11_025), atol=1e-4
    )


@pytest.mark.parametrize(("kind", "subtype"), FORMATS)
def test_a_sound_that_is_cut_off_is_refused(kind: str, subtype: str | None) -> None:
    data = sound(STEREO, kind, subtype=subtype)
    with pytest.raises(NodeError, match="'s' holds no sound that can be read") as caught:
        decode_sound(data[: len(data) // 2], 16_000, "s")
    assert caught.value.code == "wrong_value"


@given(st.binary(max_size=200) | st.integers(0, 4_000).map(lambda end: wav(NOISE[:2_000])[:end]))
def test_any_bytes_give_samples_or_an_error_of_their_row(data: bytes) -> None:
    with contextlib.suppress(NodeError):
        assert decode_sound(data, 16_000, "s").dtype == np.float32


def test_a_long_sound_is_refused_before_it_is_decoded() -> None:
    silence = sound(np.zeros(16_000 * 11, np.float32), "FLAC")
    assert len(decode_sound(silence, 16_000, "s", 11.0)) == 16_000 * 11
    with pytest.raises(NodeError, match="longer than the 10 seconds that are allowed"):
        decode_sound(silence, 16_000, "s", 10.0)


def test_a_stream_of_unknown_length_is_refused() -> None:
    data = bytearray(sound(NOISE, "FLAC"))
    data[21] &= 0xF0  # the 36 bits of the number of samples
    data[22:26] = bytes(4)
    with pytest.raises(NodeError, match="does not say how long it is"):
        decode_sound(bytes(data), 16_000, "s")


def test_a_file_of_another_kind_is_unknown() -> None:
    with pytest.raises(UnknownSound, match="AU is none of WAV, FLAC, Ogg, MP3, AIFF"):
        decode_sound(sound(NOISE, "AU"), 16_000, "s")
    with pytest.raises(UnknownSound, match="not a whole file of WAV"):
        decode_sound(b"", 16_000, "s")


def test_what_only_ffmpeg_may_know_is_left_to_it_where_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    places: dict[str, Any] = {"ffmpeg": None}
    monkeypatch.setattr(shutil, "which", places.get)
    with pytest.raises(UnknownSound):
        samples_of(b"a webm", 16_000, "s")
    places["ffmpeg"] = "/usr/bin/ffmpeg"
    assert samples_of(b"a webm", 16_000, "s") == b"a webm"
    with pytest.raises(NodeError, match="cut off"):
        samples_of(wav(NOISE)[:1_000], 16_000, "s")
    assert samples_of(NOISE, 16_000, "s") is NOISE
