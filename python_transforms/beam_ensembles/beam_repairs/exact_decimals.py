"""Decimals of rows with all their digits: Beam's coder rounds them to the 28 of Python's context.

Written for Apache Beam 2.77.
"""

from __future__ import annotations

import decimal
from decimal import Decimal
from typing import Any, Final

from apache_beam.coders import coder_impl
from apache_beam.coders.coders import DecimalCoder

from beam_ensembles.beam_repairs.bounded_rows import malformed

_EXACT: Final = decimal.Context(
    prec=decimal.MAX_PREC, Emax=decimal.MAX_EMAX, Emin=decimal.MIN_EMIN, traps=[decimal.InvalidOperation]
)
_MOST: Final = 2**31
"""Java counts the digits behind the point in 32 bits."""
_Decimals: Any = coder_impl.DecimalCoderImpl
_integers: Final[Any] = coder_impl.BigIntegerCoderImpl()


class ExactDecimalCoder(DecimalCoder):
    """Beam's coder of decimals, without rounding."""

    def _create_impl(self) -> Any:
        return _ExactDecimals()


class _ExactDecimals(_Decimals):  # type: ignore[misc]
    def encode_to_stream(self, value: Decimal, out: Any, nested: bool) -> None:
        scale = -int(value.as_tuple().exponent)
        out.write_var_int64(scale)
        _integers.encode_to_stream(int(_EXACT.scaleb(value, scale)), out, nested)

    def decode_from_stream(self, stream: Any, nested: bool) -> Decimal:
        scale = stream.read_var_int64()
        if not -_MOST <= scale < _MOST:
            raise malformed()
        return _EXACT.scaleb(Decimal(_integers.decode_from_stream(stream, nested)), -scale)
