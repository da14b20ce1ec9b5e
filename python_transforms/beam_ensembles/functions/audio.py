"""``audio``: sound files to samples at the rate that a model takes."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from beam_ensembles.functions.inputs import one_column, wrong_input
from beam_ensembles.functions.rows import finished, objects, of_each
from beam_ensembles.graph.kinds import CheckedNode, Columns, Kind, Member, NodeView
from beam_ensembles.graph.options import Options, option
from beam_ensembles.graph.output_ports import check_ports, settle
from beam_ensembles.handlers.support.sound_files import (
    LOWEST_RATE,
    MOST_SECONDS,
    decode_sound,
    sample_bytes,
)
from beam_ensembles.limits import MOST_SAMPLES
from beam_ensembles.types import BYTES, FLOAT, Array, Type

PORT: Final = "samples"
GIVEN: Final = Array(FLOAT)
_RATES: Final = (LOWEST_RATE, 384_000)
_LONGEST: Final = 86_400


class AudioOptions(Options):
    """What the decoder of sounds takes."""

    rate: int = option(0, "Samples a second of the result, as the model takes them.", required=True)
    max_seconds: float = option(MOST_SECONDS, "The longest sound that is decoded.")


class AudioKind(Kind[AudioOptions]):
    """Decodes sounds with libsndfile, brings them to one rate with soxr, and mixes their channels to one."""

    kind = "apply"
    name = "audio"
    summary = "Decodes sounds (WAV, FLAC, Ogg, MP3, AIFF) to samples of one channel at one rate."
    takes = "One column of sound files: bytes."
    gives = "samples: array<float>, -1 to 1, the mean of the channels."
    extra = "audio"
    modules = ("soundfile", "soxr")
    options = AudioOptions

    def check(self, node: NodeView[AudioOptions]) -> Mapping[str, Type | None]:
        """Checks that there is one column of bytes, and the rate."""
        type_ = one_column(node, "sound files", "data")
        if type_ is not None and type_ != BYTES:
            wrong_input(node, 0, "sound files: bytes")
        rate, seconds = node.options.rate, node.options.max_seconds
        if not _RATES[0] <= rate <= _RATES[1]:
            text = f"'rate' is {rate}; allowed: {_RATES[0]} to {_RATES[1]} samples a second"
            node.problem("bad_value", "rate", text)
        if not 0 < seconds <= _LONGEST:
            text = f"'max_seconds' is {seconds}; allowed: more than 0, at most {_LONGEST}"
            node.problem("bad_value", "max_seconds", text)
        return settle(node, "type_mismatch", dict.fromkeys(check_ports(node, [PORT]), GIVEN))

    def load(self, node: CheckedNode[AudioOptions]) -> Member:
        """Nothing is loaded: gives the function itself."""
        options = node.options
        return Samples(node.spec.columns[0], options.rate, float(options.max_seconds), node.outputs)


@dataclasses.dataclass(frozen=True, slots=True)
class Samples:
    """Decodes sounds.

    Attributes:
        column: The sound files.
        rate: The sampling rate wanted, in Hz.
        most_seconds: The longest sound that is decoded.
        outputs: The type of each column that it adds.
    """

    column: str
    rate: int
    most_seconds: float
    outputs: Mapping[str, Type]

    def __call__(self, columns: Columns) -> Columns:
        """Decodes every row's sound.

        Raises:
            SomeFailed: Some rows hold no sound, one that is too long, or one that is too much with those before it.
        """
        left = MOST_SAMPLES

        def decoded(data: bytes) -> np.ndarray[Any, Any]:
            nonlocal left
            found = decode_sound(data, self.rate, self.column, self.most_seconds, left)
            left -= len(found)
            return found

        found, faults = of_each(decoded, columns[self.column].tolist())
        column = objects(found)
        return finished(dict.fromkeys(self.outputs, (column, GIVEN)), self.outputs, faults)

    def bytes_made(self, columns: Columns) -> list[int]:
        """Returns how many bytes the samples of each row have."""
        return sample_bytes(columns[self.column], self.rate)
