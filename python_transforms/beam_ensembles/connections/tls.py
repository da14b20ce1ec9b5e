"""TLS from this side: the files that it needs, and why a connection fails.

gRPC's own errors do not tell an expired certificate from a wrong CA, so each connection is tried first with Python's
``ssl``, which does.
"""

from __future__ import annotations

import re
import socket
import ssl
from collections.abc import Sequence
from typing import Final, NoReturn

import grpc

from beam_ensembles.connections.security import ADDRESS, SYSTEM_CA, CannotConnect, Security, Setting

_BEGIN: Final = "-----BEGIN {}-----"
_SECONDS_TO_REFUSE: Final = 1.0
"""In TLS 1.3 a server refuses a client's certificate after the handshake; this long is waited for that."""

_EXPIRED: Final = (9, 10)  # X509_V_ERR_CERT_NOT_YET_VALID, X509_V_ERR_CERT_HAS_EXPIRED
_OTHER_HOST: Final = (62, 64)  # X509_V_ERR_HOSTNAME_MISMATCH, X509_V_ERR_IP_ADDRESS_MISMATCH
_NO_TLS: Final = (
    "WRONG_VERSION_NUMBER",
    "HTTP_REQUEST",
    "UNKNOWN_PROTOCOL",
    "PACKET_LENGTH_TOO_LONG",
    "RECORD_LAYER_FAILURE",
)


def host_and_port(address: str) -> tuple[str, int]:
    """Splits ``host:port``.

    Raises:
        CannotConnect: It is something else.
    """
    found = ADDRESS.fullmatch(address)
    if found is None:
        raise CannotConnect(f"the address of a server is HOST:PORT, such as localhost:8097, not '{address}'")
    return found["literal"] or found["name"], int(found["port"])


def credentials(security: Security) -> grpc.ChannelCredentials:
    """Reads the files of TLS for a gRPC channel.

    Raises:
        CannotConnect: One of them is missing or malformed.
    """
    own = {}
    if security.tls_cert is not None and security.tls_key is not None:
        own = {"certificate_chain": security.tls_cert.read(), "private_key": security.tls_key.read()}
    return grpc.ssl_channel_credentials(root_certificates=_authorities(security).encode(), **own)


def _authorities(security: Security) -> str:
    """Returns the certificate authorities in PEM."""
    if security.tls_ca is not None and security.tls_ca.path != SYSTEM_CA:
        return _certificates(security.tls_ca)
    found = ssl.create_default_context().get_ca_certs(binary_form=True)
    if not found:
        raise CannotConnect(
            "this machine has no CA certificates; install the package ca-certificates, or name a CA with "
            f"{security.how_to_set('tls_ca')}"
        )
    return "".join(map(ssl.DER_cert_to_PEM_cert, found))


def _certificates(setting: Setting) -> str:
    text = setting.read().decode("latin-1")
    begin = _BEGIN.format("CERTIFICATE")
    if begin not in text:
        text = f"holds no certificate in PEM form; it must have a block that begins with '{begin}'"
        raise CannotConnect(f"{setting} {text}")
    # Text between the blocks may be in any encoding, which OpenSSL does not take here.
    end = _BEGIN.format("CERTIFICATE").replace("BEGIN", "END")
    blocks = re.findall(f"{begin}[^-]*{end}", text)
    try:
        for block in blocks:
            ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cadata=block)
    except (ssl.SSLError, ValueError) as error:
        raise CannotConnect(f"{setting} holds a malformed certificate; replace the file") from error
    if not blocks:
        raise CannotConnect(f"{setting} holds a malformed certificate; replace the file")
    return "\n".join(blocks) + "\n"


def context(security: Security, protocols: Sequence[str] = ("h2",)) -> ssl.SSLContext:
    """Returns a context that accepts what gRPC accepts with the same files.

    Args:
        security: The files of TLS.
        protocols: The names that ALPN has for the protocols over TLS.

    Raises:
        CannotConnect: One of the files is missing or malformed.
    """
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    made.minimum_version = ssl.TLSVersion.TLSv1_2
    made.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    made.set_alpn_protocols(list(protocols))
    made.load_verify_locations(cadata=_authorities(security))
    if security.tls_cert is not None or security.tls_key is not None:
        _load_own(made, security)
    return made


def _load_own(made: ssl.SSLContext, security: Security) -> None:
    cert, key = security.tls_cert, security.tls_key
    if cert is None or key is None:
        raise CannotConnect(
            "a client certificate needs its private key and the other way round; set both "
            f"{security.how_to_set('tls_cert')}, and {security.how_to_set('tls_key')}"
        )
    _certificates(cert)
    text = key.read()
    if b"ENCRYPTED" in text:
        raise CannotConnect(
            f"the private key in {key} is encrypted; decrypt it with 'openssl pkey', and protect the file instead"
        )
    try:
        made.load_cert_chain(cert.path, key.path, password="")
    except ssl.SSLError as error:
        if error.reason == "KEY_VALUES_MISMATCH":
            raise CannotConnect(
                f"the private key in {key} does not belong to the certificate in '{cert.path}'; use the key that the "
                "certificate was made with"
            ) from error
        begin = _BEGIN.format("PRIVATE KEY")
        raise CannotConnect(
            f"{key} holds no private key in PEM form; it must have a block that begins with '{begin}'"
        ) from error


def try_tls(address: str, what: str, security: Security, seconds: float, *protocols: str) -> None:
    """Check TLS to a server by a connection that is closed at once.

    A server that is not there is no failure here: that is for gRPC to say, which may wait for it.

    Args:
        address: ``host:port``.
        what: What the server is called in messages.
        security: The files of TLS.
        seconds: How long it may take.
        protocols: The names that ALPN has for the protocols over TLS (default: HTTP/2).

    Raises:
        CannotConnect: Client or server refuses the other, or a file is missing or malformed.
    """
    made = context(security, protocols or ("h2",))
    host, port = host_and_port(address)
    try:
        plain = socket.create_connection((host, port), seconds)
    except OSError:
        return
    with plain:
        is_open = False
        try:
            with made.wrap_socket(plain, server_hostname=host) as connection:
                is_open = True
                connection.settimeout(_SECONDS_TO_REFUSE)
                if connection.recv(1) == b"":
                    _refused(what, security, "it ended the connection")
        except TimeoutError:
            if not is_open:
                raise CannotConnect(f"{what} does not answer when it is asked for TLS") from None
        except (OSError, ssl.CertificateError) as error:
            _explain(error, host, what, security, is_open=is_open)


def _explain(
    error: OSError | ValueError, host: str, what: str, security: Security, *, is_open: bool
) -> NoReturn:
    """Raise the error that explains a failed TLS connection."""
    if isinstance(error, ssl.SSLCertVerificationError):
        _explain_certificate(error.verify_code, host, what, security)
    reason = (error.reason if isinstance(error, ssl.SSLError) else None) or str(error)
    if any(word in reason for word in _NO_TLS):
        raise CannotConnect(
            f"{what} does not use TLS; start it with a certificate (beam-ensembles serve: --tls-cert and --tls-key), "
            f"or call it without {security.tls}"
        )
    is_alert = "ALERT" in reason and ("CERTIFICATE" in reason or "CA" in reason.split("_"))
    if is_alert or is_open:
        _refused(what, security, reason.replace("_", " ").lower())
    raise CannotConnect(
        f"{what} makes no TLS connection ({reason}); check that it is a gRPC server with a certificate, and whether it "
        "requires one from its clients"
    )


def _explain_certificate(code: int, host: str, what: str, security: Security) -> NoReturn:
    if code in _EXPIRED:
        raise CannotConnect(
            f"the certificate of {what}, or that of its CA, has expired or is not valid yet; renew it, or correct the "
            "clock of this machine"
        )
    if code in _OTHER_HOST:
        raise CannotConnect(
            f"the certificate of {what} is not for the host '{host}'; use an address that the certificate names, or a "
            "certificate that names this one"
        )
    ca = security.tls_ca
    known = "a CA of this machine" if ca is None or ca.path == SYSTEM_CA else f"a CA in {ca}"
    raise CannotConnect(
        f"the certificate of {what} is not signed by {known}; name the CA that signed it with "
        f"{security.how_to_set('tls_ca')}"
    )


def _refused(what: str, security: Security, why: str) -> NoReturn:
    if security.tls_cert is None:
        raise CannotConnect(
            f"{what} requires a client certificate; set {security.how_to_set('tls_cert')}, and "
            f"{security.how_to_set('tls_key')}"
        )
    raise CannotConnect(
        f"{what} refuses the client certificate in {security.tls_cert} ({why}); use one that is valid and signed by a "
        "CA that the server trusts (beam-ensembles serve: --tls-client-ca)"
    )


def speaks_tls(address: str) -> bool:
    """Whether the server at an address answers in TLS, whoever it is."""
    anybody = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    anybody.check_hostname = False
    anybody.verify_mode = (
        ssl.CERT_NONE
    )  # nothing is sent over this connection, so whose it is does not matter
    anybody.set_alpn_protocols(["h2"])
    try:
        host, port = host_and_port(address)
        with (
            socket.create_connection((host, port), _SECONDS_TO_REFUSE) as plain,
            anybody.wrap_socket(plain, server_hostname=host),
        ):
            return True
    except ssl.SSLError as error:
        return "ALERT" in (error.reason or "")
    except (OSError, ValueError, CannotConnect):
        return False
