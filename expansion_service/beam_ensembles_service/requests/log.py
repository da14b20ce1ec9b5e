"""One line of log for each transform that is asked for: what ensemble, for whom, how long, and what came of it."""

from __future__ import annotations

import dataclasses
import logging
import re
import time
from typing import Final

import grpc

from beam_ensembles import logs
from beam_ensembles.errors import EnsembleError, InvalidEnsemble
from beam_ensembles.messages.printable import shortened

_LOGGER: Final = logging.getLogger("beam_ensembles_service.request_log")
_AGENT: Final = "user-agent"
_NAME_OF_BEAM: Final = re.compile(r"[Ee]xternal\d*")
"""What Beam for Java and Go call each transform of another language."""


@dataclasses.dataclass(slots=True)
class RequestLog:
    """Collects the facts of a request, and writes its log line at the end.

    Attributes:
        name: What the pipeline calls the transform.
        context: The call's; None where there is none.
        ensemble: Name of the ensemble, once it is known.
        started: Monotonic seconds.
    """

    name: str
    context: grpc.ServicerContext | None
    ensemble: str | None = None
    started: float = dataclasses.field(default_factory=time.monotonic)

    def expanded(self) -> None:
        """Logs that the transform was expanded."""
        _LOGGER.info("expanded '%s'", self._name(), extra=self._fields("expanded"))

    def refused(self, error: EnsembleError) -> None:
        """Logs that the request was refused; the message itself is for the caller alone."""
        codes: tuple[str, ...] = ()
        if isinstance(error, InvalidEnsemble):
            codes = tuple(dict.fromkeys(problem.code for problem in error.problems))
            self.ensemble = self.ensemble or error.ensemble
        _LOGGER.info("refused '%s'", self._name(), extra=self._fields("refused", ",".join(codes) or None))
        _LOGGER.debug("%s", error)

    def dropped(self) -> None:
        """Log that the caller has gone, or that the request took too long."""
        _LOGGER.info("dropped '%s'", self._name(), extra=self._fields("dropped"))

    def failed(self) -> None:
        """Logs a mistake in the service itself, with the traceback of the error that is being handled."""
        _LOGGER.exception("failed to expand '%s'", self._name(), extra=self._fields("failed"))

    def _name(self) -> str:
        is_of_beam = _NAME_OF_BEAM.fullmatch(self.name) is not None
        return shortened(self.ensemble if is_of_beam and self.ensemble else self.name)

    def _fields(self, outcome: str, codes: str | None = None) -> dict[str, object]:
        seconds = round(time.monotonic() - self.started, 3)
        return logs.with_fields(
            ensemble=self.ensemble, client=self._client(), seconds=seconds, outcome=outcome, codes=codes
        )

    def _client(self) -> str | None:
        """Returns the caller's address and what it says of itself, such as ``grpc-java-netty/1.69.0``."""
        if self.context is None:
            return None
        # Both for bytes and text gRPC's metadata has one type.
        said = dict(self.context.invocation_metadata()).get(_AGENT, "")
        return shortened(" ".join(filter(None, (self.context.peer(), str(said).partition(" ")[0]))))
