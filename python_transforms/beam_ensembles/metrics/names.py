"""The names of the metrics, as runners show them. The namespace of a node's is ``<ensemble>/<node>``.

Those that Beam's RunInference has too are called and measured as there.
"""

from __future__ import annotations

from typing import Final

NUM_INFERENCES: Final = "num_inferences"
"""Rows that the node answered."""

FAILED_ROWS: Final = "failed_rows"
"""Rows that it failed on, whatever its ``on_error`` made of them."""

FAILED_BATCHES: Final = "failed_batches_counter"
"""Batches with a row that it failed on."""

SKIPPED_ROWS: Final = "skipped_rows"
"""Rows for which its condition does not hold."""

BATCH_SIZE: Final = "inference_request_batch_size"
"""Rows of each batch that it ran on."""

BATCH_BYTES: Final = "inference_request_batch_byte_size"
"""Bytes of the columns that it read of each batch."""

BATCH_LATENCY: Final = "inference_batch_latency_micro_secs"
"""Microseconds for each batch, retries and halves of it included."""

LOAD_LATENCY: Final = "load_model_latency_milli_secs"
"""Milliseconds for each time that it was loaded."""

MODEL_BYTES: Final = "model_byte_size"
"""Bytes by which the peak memory of the process grew meanwhile."""

ARM: Final = "arm_"
"""``arm_<name>``: rows that took an arm of a route."""

USAGE: Final = "usage_"
"""``usage_<name>``: what a node counts besides rows, such as calls of a server and tokens."""

CALL_LATENCY: Final = "call_latency_micro_secs"
"""Microseconds for each call of a server, each attempt by itself."""

AGREEMENTS: Final = "agreements"
"""Rows on which a shadow says what the node beside it says."""

DISAGREEMENTS: Final = "disagreements"
"""Rows on which it says something else."""

DIFFERENCES: Final = "differences_millionths"
"""The sum over these rows of how far its numbers are from the other node's: the greatest difference on each row."""

GREATEST_DIFFERENCE: Final = "greatest_difference_millionths"
"""The greatest difference of each batch."""

COMPARED_ROWS: Final = "compared_rows"
"""Rows of an input that were compared with its profile; the namespace is ``<ensemble>/inputs.<column>``."""

NULL_ROWS: Final = "null_rows"
"""Those of them in which it is null."""

OUT_OF_RANGE: Final = "out_of_range_values"
"""Numbers in them that are below the smallest, or above the largest, of the profile."""

UNSEEN: Final = "unseen_values"
"""Texts in them that are none of the profile's categories."""

DRIFTED_WINDOWS: Final = "drifted_windows"
"""Windows of these rows in which the input differs from its profile beyond chance."""

STABILITY_INDEX: Final = "population_stability_index_millionths"
"""The population stability index of each window."""

INPUT: Final = "inputs."
"""What the name of an input starts with in a namespace; a node's has no dot."""

REFRESHES: Final = "refreshes"
"""New versions of the ensemble that a stage on a worker went on with; the namespace is ``<ensemble>``."""

REFUSED_REFRESHES: Final = "refused_refreshes"
"""New versions that it could not go on with; the namespace is ``<ensemble>``."""

REFUSED_BY_GATE: Final = "refused_refreshes_by_gate"
"""Those of them whose answers were beyond the limits of the gate; the namespace is ``<ensemble>``."""
