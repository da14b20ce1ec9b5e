"""A certificate authority of a test, and the certificates that it signs."""

from __future__ import annotations

import datetime
import ipaddress
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

_DAY = datetime.timedelta(days=1)
_HOUR = datetime.timedelta(hours=1)


class Pair(NamedTuple):
    """The files of a certificate and of its private key, in PEM."""

    cert: Path
    key: Path


class Authority:
    """A CA whose files are in a folder.

    Attributes:
        file: Its certificate, in PEM.
    """

    def __init__(self, folder: Path, name: str = "ca") -> None:
        self._folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = _name(name)
        unsigned = _builder(self._name, self._key, _HOUR).issuer_name(self._name)
        unsigned = unsigned.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        self.file = _write(folder / f"{name}.pem", unsigned.sign(self._key, hashes.SHA256()))

    def issue(self, name: str, hosts: Sequence[str] = (), lifetime: datetime.timedelta = _HOUR) -> Pair:
        """Signs a certificate.

        Args:
            name: Whom it is for, and the names of its files.
            hosts: Names and addresses that it is valid for.
            lifetime: Until when it is valid, from now; negative: it has expired.
        """
        key = ec.generate_private_key(ec.SECP256R1())
        unsigned = _builder(_name(name), key, lifetime).issuer_name(self._name)
        if hosts:
            names = x509.SubjectAlternativeName([_general_name(host) for host in hosts])
            unsigned = unsigned.add_extension(names, critical=False)
        key_file = self._folder / f"{name}.key"
        key_file.write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            )
        )
        return Pair(_write(self._folder / f"{name}.pem", unsigned.sign(self._key, hashes.SHA256())), key_file)


def _builder(
    name: x509.Name, key: ec.EllipticCurvePrivateKey, lifetime: datetime.timedelta
) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _DAY)
        .not_valid_after(now + lifetime)
    )


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _general_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _write(path: Path, certificate: x509.Certificate) -> Path:
    path.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    return path
