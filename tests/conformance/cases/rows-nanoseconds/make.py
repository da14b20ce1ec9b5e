"""Timestamps, times and durations in nanoseconds, and numbers of many digits, that no node reads."""

from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq

AT = 1_704_067_200_123_456_789
columns = {
    "x": pa.array([1.0, 2.0]),
    "at": pa.array([AT, -1], pa.timestamp("ns")),
    "zoned": pa.array([AT, None], pa.timestamp("ns", "Europe/Berlin")),
    "t": pa.array([AT % 86_400_000_000_000, 0], pa.time64("ns")),
    "d": pa.array([AT, -1], pa.duration("ns")),
    "many": pa.array([[AT], []], pa.list_(pa.timestamp("ns", "UTC"))),
    "price": pa.array([Decimal("12345678901234567890.10"), None], pa.decimal128(38, 2)),
    "id": pa.array([2**64 - 1, 0], pa.uint64()),
}
pq.write_table(pa.table(columns), "rows.parquet")
