"""The ``ExpansionService``: asks the policy, adapts, expands, and answers mistakes with one clear text."""

from __future__ import annotations

import dataclasses
from typing import Final

import grpc
from apache_beam.portability.api import beam_expansion_api_pb2, beam_expansion_api_pb2_grpc
from apache_beam.transforms.environments import Environment

from beam_ensembles.errors import EnsembleError
from beam_ensembles.files.ensemble_files import Bundle, Files
from beam_ensembles.interruption import Interrupted, checkpoint
from beam_ensembles.messages.foreign_errors import described
from beam_ensembles.transforms import RunEnsembleConfig, RunEnsembleFromConfig
from beam_ensembles_service.requests.artifacts import OfferedArtifacts
from beam_ensembles_service.requests.compatibility import adapt, restore
from beam_ensembles_service.requests.configuration import decode_configuration
from beam_ensembles_service.requests.discovery import discover
from beam_ensembles_service.requests.environment import Workers
from beam_ensembles_service.requests.expansion import expand
from beam_ensembles_service.requests.handshake import add_versions
from beam_ensembles_service.requests.log import RequestLog
from beam_ensembles_service.requests.policy import check_encoding, check_request

SCHEMA: Final = "io.github.beamensembles:schema:"
"""Annotations of an expanded transform: with the tag of an output, the schema of the rows in its record batches."""
_ONLY_WHAT_IS_SAFE: Final = Files()


class EnsembleExpansionServicer(beam_expansion_api_pb2_grpc.ExpansionServiceServicer):
    """Expands and describes this project's schema transforms, and nothing else.

    Args:
        workers: Where expanded transforms run.
        files: What an ensemble may use of this and other machines.
        artifacts: Hands out the bundles that expansions offer.
    """

    def __init__(
        self, workers: Workers, files: Files = _ONLY_WHAT_IS_SAFE, artifacts: OfferedArtifacts | None = None
    ) -> None:
        self._workers = workers
        self._artifacts = artifacts or OfferedArtifacts()
        self._files = dataclasses.replace(files, shared=workers.shared_files)

    def Expand(
        self, request: beam_expansion_api_pb2.ExpansionRequest, context: grpc.ServicerContext | None = None
    ) -> beam_expansion_api_pb2.ExpansionResponse:
        """Expands one transform; what is wrong with it is the answer's ``error``, never a traceback."""
        line = RequestLog(request.transform.unique_name, context)
        try:
            response = self._expand(request, line)
        except EnsembleError as error:
            line.refused(error)
            return beam_expansion_api_pb2.ExpansionResponse(error=str(error))
        except Interrupted:
            line.dropped()
            raise
        except Exception as error:
            line.failed()
            return beam_expansion_api_pb2.ExpansionResponse(error=_internal(error))
        line.expanded()
        return response

    def DiscoverSchemaTransform(
        self,
        request: beam_expansion_api_pb2.DiscoverSchemaTransformRequest,
        context: grpc.ServicerContext | None = None,
    ) -> beam_expansion_api_pb2.DiscoverSchemaTransformResponse:
        """Describes the transforms on offer."""
        return discover()

    def _expand(
        self, request: beam_expansion_api_pb2.ExpansionRequest, line: RequestLog
    ) -> beam_expansion_api_pb2.ExpansionResponse:
        config = RunEnsembleConfig.from_mapping(decode_configuration(check_request(request)))
        check_encoding(request, config.is_arrow)
        checkpoint()
        transform = RunEnsembleFromConfig(config, self._files)
        checkpoint()
        line.ensemble = transform.ensemble
        adapted = adapt(request)
        response = expand(adapted.request, transform, self._environment(transform.bundle))
        restore(adapted, response, transform.expected_schemas())
        checkpoint()
        add_versions(response, transform.ensemble, transform.plugins, adapted.renamed)
        for tag, schema in transform.batch_schemas().items():
            response.transform.annotations[SCHEMA + tag] = schema.SerializeToString()
        return response

    def _environment(self, bundle: Bundle | None) -> Environment:
        if bundle is None:
            return self._workers.environment
        return self._workers.environment_with([self._artifacts.offer(bundle)])


def _internal(error: Exception) -> str:
    return f"internal error: {described(error)} (the expansion service's log says more)"
