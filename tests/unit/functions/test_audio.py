"""``apply: audio``: sound files to samples."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soxr

from beam_ensembles.errors import SomeFailed
from tests.support.media import noise, objects, sound, wav
from tests.support.nodes import load_node, problems_of, types_of

FOLDER = Path("/")
NOISE = noise(1, 4_000)


def node_of(**more: Any) -> dict[str, Any]:
    return {"apply": "audio", "rate": 16_000, "inputs": ["s"], "outputs": {"samples": None}, **more}


def test_sounds_are_samples_of_one_rate_and_channel() -> None:
    assert types_of(FOLDER, {"s": "bytes"}, node_of()) == {"samples": "array<float>"}
    stereo = np.stack([NOISE, -NOISE / 2], axis=1)
    columns = {"s": objects(wav(NOISE), sound(stereo, "FLAC", 16_000), sound(NOISE, "FLAC", 8_000))}
    found = load_node(FOLDER, {"s": "bytes"}, node_of())(columns)["samples"]
    np.testing.assert_allclose(found[0], NOISE, atol=1e-4)
    np.testing.assert_allclose(found[1], NOISE / 4, atol=1e-4)
    np.testing.assert_allclose(found[2], soxr.resample(NOISE, 8_000, 16_000), atol=1e-3)


def test_bad_rows_fail_alone() -> None:
    rows = objects(wav(NOISE), b"RIFF", wav(noise(2, 16_001)), wav(NOISE)[:4_000], sound(NOISE, "MP3"))
    with pytest.raises(SomeFailed) as caught:
        load_node(FOLDER, {"s": "bytes"}, node_of(max_seconds=1))({"s": rows})
    assert [len(row) for row in caught.value.columns["samples"]] == [4_000, 4_000]
    messages = {at: error.message for at, error in caught.value.faults.items()}
    assert "not a whole file of WAV, FLAC, Ogg, MP3, AIFF" in messages[1]
    assert "longer than the 1 seconds" in messages[2]
    assert "cut off" in messages[3]
    assert {error.code for error in caught.value.faults.values()} == {"wrong_value"}


@pytest.mark.parametrize(
    ("change", "wanted"),
    [
        ({"rate": None}, [("missing_key", "rate")]),
        ({"rate": 16}, [("bad_value", "rate")]),
        ({"max_seconds": 0}, [("bad_value", "max_seconds")]),
        ({"inputs": ["t"]}, [("type_mismatch", "inputs[0]")]),
        ({"outputs": {"samples": "array<int64>"}}, [("type_mismatch", "outputs.samples")]),
    ],
)
def test_what_is_wrong(change: dict[str, Any], wanted: list[tuple[str, str]]) -> None:
    assert problems_of(FOLDER, {"s": "bytes", "t": "string"}, {**node_of(), **change}) == wanted
