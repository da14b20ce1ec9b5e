"""The coder between the steps of a stage."""

from __future__ import annotations

import pickle

from apache_beam.coders import typecoders

from beam_ensembles.columns.batch import RowBatch
from beam_ensembles.runtime.arrow_source import ArrowResult
from beam_ensembles.runtime.batch_coder import BatchCoder, SizedCoder, register_batch_types
from beam_ensembles.runtime.batch_groups import Group
from beam_ensembles.runtime.row_source import BatchResult


def test_batches_survive_where_steps_are_not_fused() -> None:
    batch = RowBatch([1, 2], [3, 4])
    assert BatchCoder().decode(BatchCoder().encode(batch)) == batch


def test_estimating_a_size_encodes_nothing() -> None:
    class Heavy:
        def __reduce__(self) -> str:
            raise AssertionError("pickled")

    result = BatchResult([Heavy(), Heavy()], None, (), None, ())
    assert BatchCoder().get_impl().estimate_size(result) == 2 * 64


def test_beam_finds_it() -> None:
    register_batch_types()
    assert (
        typecoders.registry.get_coder(RowBatch) == typecoders.registry.get_coder(BatchResult) == BatchCoder()
    )
    assert pickle.loads(pickle.dumps(BatchCoder())) == BatchCoder()


def test_the_type_of_what_is_encoded_is_known_to_notebooks() -> None:
    register_batch_types()
    for type_ in (RowBatch, BatchResult, Group, ArrowResult):
        assert typecoders.registry.get_coder(type_).to_type_hint() is type_


def test_groups_of_record_batches_and_of_their_results_have_their_size() -> None:
    register_batch_types()
    coder = typecoders.registry.get_coder(Group)
    assert coder == typecoders.registry.get_coder(ArrowResult) == SizedCoder()
    batches = Group([b"123", b"45"], [1, 2], ())
    results = Group([ArrowResult(b"123", b"4", None), ArrowResult(None, None, None)], [1, 2], ())
    assert [coder.get_impl().estimate_size(group) for group in (batches, results)] == [5, 4]
    assert [coder.decode(coder.encode(group)) for group in (batches, results)] == [batches, results]
