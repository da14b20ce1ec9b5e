"""Connect this project's clients to a server, with TLS and a token; failures are one sentence."""

from beam_ensembles.connections.security import ARGUMENTS, FLAGS, CannotConnect, Security

__all__ = ["ARGUMENTS", "FLAGS", "CannotConnect", "Security"]
