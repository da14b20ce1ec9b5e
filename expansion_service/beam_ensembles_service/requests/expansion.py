"""Expands one transform into a response, with Beam's own machinery and nothing of the caller's but its input.

The stock servicer's ``Expand`` does the same for any transform. It also reads the caller's pipeline options
(which name a runner class to import), copies all options three times a request, and leaves a temporary folder
behind.

Written for Apache Beam 2.77 (``apache_beam.runners.portability.expansion_service``).
"""

from __future__ import annotations

import copy
import functools
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final, TypeVar

from apache_beam import Pipeline, PTransform
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.portability.api import beam_expansion_api_pb2
from apache_beam.runners.pipeline_context import PipelineContext
from apache_beam.runners.runner import PipelineRunner
from apache_beam.transforms.environments import Environment
from apache_beam.transforms.external import ExternalTransform

_View = TypeVar("_View", bound=PipelineOptions)


class _NoFlags(PipelineOptions):
    """Options that no flag sets: what each kind of them is by default is found out once.

    Beam takes some fifty views of a pipeline's options, and makes a parser for each to read the flags again.
    """

    def view_as(self, cls: type[_View]) -> _View:
        """Returns a view that shares its values with all others, as Beam's does."""
        view = cls.__new__(cls)
        made = _without_flags(cls)  # type: ignore[arg-type]  # mypy takes no class for hashable
        vars(view).update(vars(made), _all_options=self._all_options)
        for name, default in vars(view._visible_options).items():
            if name not in self._all_options:
                self._all_options[name] = copy.copy(default)
        return view


@functools.cache
def _without_flags(cls: type[PipelineOptions]) -> PipelineOptions:
    return cls(flags=[])


_OPTIONS: Final = _NoFlags(flags=[])


def expand(
    request: beam_expansion_api_pb2.ExpansionRequest,
    transform: PTransform[Any, Any],
    environment: Environment,
) -> beam_expansion_api_pb2.ExpansionResponse:
    """Applies a transform to the request's input and gives the components that come of it.

    Args:
        request: With one input that has a producer (``compatibility.adapt``).
        transform: Gives a dict of its outputs, so that their tags are kept.
        environment: Where the workers of the transform run.

    Returns:
        The response; the request's own components are part of it.
    """
    with _pipeline() as pipeline:
        context = PipelineContext(
            request.components,
            default_environment=environment,
            namespace=request.namespace,
            requirements=request.requirements,
        )
        rows = _input(request, context, pipeline)
        with ExternalTransform.outer_namespace(request.namespace):
            outputs: Any = pipeline.apply(transform, rows, request.transform.unique_name)
        applied = pipeline._root_transform().parts[-1]
        applied.outputs = outputs
        proto = pipeline.to_runner_api(context=context)
        transform_proto = proto.components.transforms.pop(context.transforms.get_id(applied))
        transform_proto.inputs.clear()
        transform_proto.inputs.update(request.transform.inputs)
        for transform_id in proto.root_transform_ids:
            del proto.components.transforms[transform_id]
        return beam_expansion_api_pb2.ExpansionResponse(
            components=proto.components, transform=transform_proto, requirements=proto.requirements
        )


@contextmanager
def _pipeline() -> Iterator[Pipeline]:
    pipeline = Pipeline(runner=PipelineRunner(), options=_OPTIONS)
    try:
        yield pipeline
    finally:
        shutil.rmtree(pipeline.local_tempdir, ignore_errors=True)


def _input(
    request: beam_expansion_api_pb2.ExpansionRequest, context: PipelineContext, pipeline: Pipeline
) -> Any:
    (input_id,) = request.transform.inputs.values()
    producer = next(
        id_ for id_, proto in request.components.transforms.items() if input_id in proto.outputs.values()
    )
    rows = context.pcollections.get_by_id(input_id)
    rows.pipeline = pipeline
    rows.producer, rows.tag = context.transforms.get_by_id(producer), "out"
    # The same object must resolve to the caller's id when the pipeline becomes a proto again.
    context.pcollections._obj_to_id[rows] = input_id
    return rows
