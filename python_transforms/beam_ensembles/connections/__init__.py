"""How this project's clients connect to a server: with TLS, with a token, and with one sentence where that fails."""

from beam_ensembles.connections.security import ARGUMENTS, FLAGS, CannotConnect, Security

__all__ = ["ARGUMENTS", "FLAGS", "CannotConnect", "Security"]
