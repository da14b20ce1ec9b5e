"""Puts the service's versions in front of all that its workers unpickle, so that another worker says what is wrong.

Without it a worker with other versions fails somewhere in the middle of unpickling, with a traceback that names none.

Written for Apache Beam 2.77 (how ``cloudpickle_pickler`` packs a pickle, and ``coders`` a coder).
"""

from __future__ import annotations

import base64
import bz2
import functools
import inspect
import zlib
from collections.abc import Callable, Mapping
from typing import Final

from apache_beam.internal import pickler
from apache_beam.portability import common_urns, python_urns
from apache_beam.portability.api import beam_expansion_api_pb2, beam_runner_api_pb2
from google.protobuf import wrappers_pb2

from beam_ensembles.runtime import version_guard

_SOURCE: Final = inspect.getsource(version_guard)
_Guard = Callable[[bytes], version_guard.Guarded]


def add_versions(
    response: beam_expansion_api_pb2.ExpansionResponse,
    ensemble: str,
    plugins: Mapping[str, str],
    callers: beam_runner_api_pb2.Components,
) -> None:
    """Guards every pickled function and coder of an expansion, in place.

    Args:
        response: What the caller gets.
        ensemble: The ensemble's name, for the error.
        plugins: The versions of the distributions that add kinds which it uses, by name.
        callers: The components that came with the request, under the ids that they have in the answer. They stay as
            they are: what they hold is never unpacked.
    """
    guard = functools.partial(version_guard.Guarded, ensemble, source=_SOURCE, plugins=plugins)
    for name, transform in response.components.transforms.items():
        if transform.spec.urn == common_urns.primitives.PAR_DO.urn and name not in callers.transforms:
            _guard_function(transform.spec, guard)
    for name, coder in response.components.coders.items():
        if coder.spec.urn == python_urns.PICKLED_CODER and name not in callers.coders:
            _guard_coder(coder.spec, guard)


def _guard_function(spec: beam_runner_api_pb2.FunctionSpec, guard: _Guard) -> None:
    pardo = beam_runner_api_pb2.ParDoPayload.FromString(spec.payload)
    if pardo.do_fn.urn == python_urns.PICKLED_DOFN_INFO:
        pickled = bz2.decompress(base64.b64decode(pardo.do_fn.payload))
        pardo.do_fn.payload = pickler.dumps(guard(pickled))
        spec.payload = pardo.SerializeToString(deterministic=True)


def _guard_coder(spec: beam_runner_api_pb2.FunctionSpec, guard: _Guard) -> None:
    kind, _, packed = wrappers_pb2.BytesValue.FromString(spec.payload).value.partition(b"$")
    pickled = zlib.decompress(base64.b64decode(packed))
    guarded = pickler.dumps(guard(pickled), use_zlib=True)
    spec.payload = wrappers_pb2.BytesValue(value=b"%s$%s" % (kind, guarded)).SerializeToString()
