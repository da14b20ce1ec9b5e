"""How much memory the items of an Arrow array take once its dictionaries are unfolded."""

from __future__ import annotations

from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from beam_ensembles.columns.arrow_types import is_list

_LARGE_OF: Final = {pa.string_view(): pa.large_string(), pa.binary_view(): pa.large_binary()}


def has_dictionary(found: pa.DataType) -> bool:
    """Whether a type is a dictionary, or holds one."""
    if isinstance(found, pa.BaseExtensionType):
        return has_dictionary(found.storage_type)
    if pa.types.is_dictionary(found):
        return True
    return any(has_dictionary(found.field(at).type) for at in range(found.num_fields))


def unfolded_sizes(array: pa.Array) -> np.ndarray:
    """Returns how many bytes each item takes once every dictionary in it is unfolded, int64.

    Args:
        array: An array whose offsets, lengths and indices have been checked. What takes no memory of its own, such as
            the offsets of lists, is not counted.
    """
    found = array.type
    if isinstance(found, pa.BaseExtensionType):
        return unfolded_sizes(array.storage)
    if pa.types.is_dictionary(found):
        sizes = pa.array(unfolded_sizes(array.dictionary))
        return _numbers(sizes.take(array.indices))
    if _is_text(found):
        return _numbers(pc.binary_length(array.cast(_LARGE_OF.get(found, found))))
    if pa.types.is_struct(found):
        return sum(map(unfolded_sizes, array.flatten()), np.zeros(len(array), np.int64))
    if pa.types.is_map(found):
        array = array.cast(pa.list_(pa.struct([pa.field("key", found.key_type), found.item_field])))
    if is_list(found) or pa.types.is_map(found):
        ends = np.cumsum(np.append(0, unfolded_sizes(array.flatten())))
        lengths = np.append(0, _numbers(pc.list_value_length(array)))
        return np.diff(ends[np.cumsum(lengths)])
    return np.full(len(array), array.nbytes // max(len(array), 1), np.int64)


def _numbers(array: pa.Array) -> np.ndarray:
    return np.asarray(array.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False), np.int64)


def _is_text(found: pa.DataType) -> bool:
    kinds = (
        pa.types.is_string, pa.types.is_binary, pa.types.is_large_string, pa.types.is_large_binary,
        pa.types.is_string_view, pa.types.is_binary_view,
    )  # fmt: skip
    return any(kind(found) for kind in kinds)
