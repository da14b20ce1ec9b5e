"""A Parquet file with columns of views, read and not, and a row that fails."""

import pyarrow as pa
import pyarrow.parquet as pq

columns = {
    "x": pa.array([1.0, None, 3.0]),
    "s": pa.array(["a", "b", None], pa.string_view()),
    "unread": pa.array(
        [["a", "longer than the twelve bytes of a view"], None, []], pa.list_(pa.string_view())
    ),
    "raw": pa.array([b"a", b"b", None], pa.binary_view()),
    "kind": pa.array(["a", "b", "a"]).dictionary_encode(),
}
pq.write_table(pa.table(columns), "rows.parquet")
