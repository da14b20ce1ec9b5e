"""Rows that a worker receives are read no further than their bytes go. Written for Beam 2.77 (``bundle_processor``).

Beam's own loop passes on an element before it looks whether reading it went beyond what came.
"""

from __future__ import annotations

from typing import Any

from apache_beam.runners.worker import bundle_processor

from beam_ensembles.beam_repairs import row_coder
from beam_ensembles.beam_repairs.bounded_rows import BoundedStream, check


def install() -> None:
    """Make workers decode rows by position, whatever their types and names, and within their bytes."""
    row_coder.install()
    reads: Any = bundle_processor.DataInputOperation
    reads.process_encoded = _process_encoded


def _process_encoded(self: Any, encoded_windowed_values: bytes) -> None:
    """Decode as Beam does, but never pass on an element that was read beyond the received bytes."""
    rows = getattr(self.windowed_coder, "wrapped_value_coder", None)
    make = rows.stream if isinstance(rows, row_coder.PositionalRowCoder) else BoundedStream
    stream, decode = make(encoded_windowed_values), self.windowed_coder_impl.decode_from_stream
    left = check(stream)
    while left > 0:
        with self.splitting_lock:
            if self.index == self.stop - 1:
                return
            self.index += 1
        try:
            value = decode(stream, True)
        except Exception as error:
            check(stream)
            where = f"coder {self.windowed_coder} in step {self.name_context.step_name}"
            raise ValueError(f"Error decoding input stream with {where}") from error
        left = check(stream)
        self.output(value)
