"""The flags of verbs that connect to a server: TLS and the token."""

from __future__ import annotations

import argparse
from typing import Final

from beam_ensembles.connections.security import FLAGS, SYSTEM_CA, VARIABLES, Security

_HELP: Final = {
    "tls_ca": f"use TLS, and trust the CA certificates in this PEM file; '{SYSTEM_CA}' trusts those of this machine",
    "tls_cert": "use TLS, and show the client certificate in this PEM file to a server that requires one",
    "tls_key": "read the private key of --tls-cert from this PEM file",
    "token_file": "send the token in this file, over TLS or to a loopback address only",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the flags to a verb's parser."""
    group = parser.add_argument_group(
        "TLS and token",
        "a missing flag is read from its environment variable; an empty one ('') turns it off",
    )
    for name, flag in FLAGS.items():
        group.add_argument(flag, metavar="FILE", help=f"{_HELP[name]} (default: ${VARIABLES[name]})")


def security_of(args: argparse.Namespace) -> Security:
    """Returns the settings of parsed flags and the environment."""
    return Security.of({name: getattr(args, name) for name in FLAGS}, FLAGS)
