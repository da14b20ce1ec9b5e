"""URIs of other machines in one spelling, so that the URI that was compared is the one that is read.

Servers, proxies and libraries disagree on what ``..``, ``%2e``, a backslash or ``user@`` mean. A URI that two of them
could read differently is refused; the rest get one spelling: scheme and host in lower case, no default port.
"""

from __future__ import annotations

import ipaddress
import re
from typing import Final
from urllib.parse import SplitResult, unquote, urlsplit

WEB: Final = ("http", "https")
_PORTS: Final = {"http": 80, "https": 443}
_HOST: Final = re.compile(r"[a-z0-9_]([a-z0-9._-]*[a-z0-9_])?")
_BUCKET: Final = re.compile(r"[A-Za-z0-9._:-]*")
_NUMBER: Final = re.compile(r"(0x[0-9a-f]*|[0-9]+)")
_HOSTS: Final = re.compile(r"[\w.*?\[\]:-]+")
_DOTS: Final = (".", "..")
_LOCAL_NAMES: Final = (".internal", ".local", ".localdomain", ".localhost")
"""How names end that lead into the own network, as that of a cluster; names without a dot do, too."""
_PROTOCOLS: Final = ipaddress.IPv4Network("192.0.0.0/24")
"""Not public, whatever Python before 3.11.9 says; a cloud has its metadata there."""
_UNICAST: Final = ipaddress.IPv6Network("2000::/3")
"""The only addresses of the internet that have been given out."""
_NAT64: Final = ipaddress.IPv6Network("64:ff9b::/96")
_MOST_DECODINGS: Final = 4
_LONGEST: Final = 8192
_SHOWN: Final = 200


class AmbiguousUri(ValueError):
    """Two programs could read a URI differently; the message says what is wrong in one line."""


def is_web(uri: str) -> bool:
    """Whether an absolute URI is a web address."""
    return uri.partition(":")[0].lower() in WEB


def canonical(uri: str) -> str:
    """Returns the one spelling of an absolute URI of the web or of storage.

    Args:
        uri: ``scheme://host/path`` of any scheme but ``file``.

    Raises:
        AmbiguousUri: It holds something that programs read differently.
    """
    _check_characters(uri)
    scheme, separator, rest = uri.partition("://")
    if not separator:
        raise _ambiguous(uri, "it has no '://'")
    scheme = scheme.lower()
    if scheme not in WEB:
        return _stored(uri, scheme, rest)
    parts = _split(uri)
    path = parts.path or "/"
    _check_path(uri, path)
    query = f"?{parts.query}" if parts.query else ""
    return f"{scheme}://{_host_and_port(uri, parts)}{path}{query}"


def origin(uri: str) -> str:
    """Returns scheme and host of an absolute URI, or scheme and bucket: ``https://example.com:8443``, ``gs://models``.

    Raises:
        AmbiguousUri: As for ``canonical``.
    """
    scheme, _, rest = canonical(uri).partition("://")
    return f"{scheme}://{re.split('[/?]', rest, maxsplit=1)[0]}"


def is_below(uri: str, prefix: str) -> bool:
    """Whether a URI lies below a prefix, which ends at a ``/``; False for a URI that programs read differently."""
    try:
        return _is_below(canonical(uri), canonical(prefix).rstrip("/"))
    except AmbiguousUri:
        return False


def host_name(uri: str) -> str:
    """Returns the host of a URL in lower case, without a dot at its end; IP addresses in their usual form.

    Raises:
        AmbiguousUri: It names no host, or one that programs read differently.
    """
    _check_characters(uri)
    return _host(uri, _split(uri))


def join(base: str, relative: str) -> str:
    """Returns the URI of a relative one: ``..`` leads a folder up, but not out of the host or bucket.

    Raises:
        AmbiguousUri: It leads out of it.
    """
    scheme, _, rest = base.partition("://")
    host, _, path = rest.partition("/")
    steps: list[str] = [step for step in path.rstrip("/").split("/") if step]
    for step in relative.split("/"):
        if step == "..":
            if not steps:
                raise _ambiguous(f"{base.rstrip('/')}/{relative}", "it leads out of its host or bucket")
            steps.pop()
        elif step not in ("", "."):
            steps.append(step)
    return f"{scheme}://{host}/{'/'.join(steps)}"


def is_host_pattern(text: str) -> bool:
    """Whether a text names hosts: ``models.example.com``, ``*.example.com``, ``http://localhost:8080``, ``gs://team-*``."""
    _, separator, host = text.partition("://")
    return _HOSTS.fullmatch((host if separator else text).rstrip("/")) is not None


def is_local_network(host: str) -> bool:
    """Whether a host, by its name alone, is this machine or lies in its own network; no name is looked up."""
    try:
        return not is_public(ipaddress.ip_address(host))
    except ValueError:
        return "." not in host or host.endswith(_LOCAL_NAMES)


def is_public(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    """Whether an address is one of the internet: what is not known to be is this machine's own network.

    An IPv6 address may stand for an IPv4 one, which a gateway makes of it.
    """
    if address.version == 4:
        return address.is_global and not address.is_multicast and address not in _PROTOCOLS
    stands_for = address.ipv4_mapped or address.sixtofour or (address.teredo or (None, None))[1]
    if address in _NAT64:
        stands_for = ipaddress.IPv4Address(int(address) & 0xFFFF_FFFF)
    elif address not in _UNICAST and stands_for is None:
        return False
    return address.is_global if stands_for is None else is_public(stands_for)


def _is_below(uri: str, prefix: str) -> bool:
    return uri.startswith(f"{prefix}/") and "?" not in prefix


def _check_characters(uri: str) -> None:
    if len(uri) > _LONGEST:
        raise _ambiguous(uri, f"it is longer than {_LONGEST} characters")
    if not uri.isprintable() or " " in uri or "\\" in uri:
        raise _ambiguous(uri, "it holds a space, a backslash or an invisible character")


def _split(uri: str) -> SplitResult:
    try:
        return urlsplit(uri)
    except ValueError as exc:
        raise _ambiguous(uri, "its host is not valid") from exc


def _host_and_port(uri: str, parts: SplitResult) -> str:
    host = _host(uri, parts)
    shown = f"[{host}]" if ":" in host else host
    try:
        port = parts.port
    except ValueError as exc:
        raise _ambiguous(uri, "its port is not a number up to 65535") from exc
    if parts.netloc.endswith(":") or port == 0:
        raise _ambiguous(uri, "its port is not a number from 1 to 65535")
    return shown if port in (None, _PORTS[parts.scheme]) else f"{shown}:{port}"


def _host(uri: str, parts: SplitResult) -> str:
    if "@" in parts.netloc and parts.scheme in WEB:
        raise _ambiguous(uri, "it holds a user name before '@'")
    host = (parts.hostname or "").removesuffix(".")
    if ":" in host:
        return _address(uri, host)
    if not _HOST.fullmatch(host) or ".." in host:
        raise _ambiguous(
            uri, "its host is not a name of letters, digits, '-' and '.' (write others as xn--...)"
        )
    if _NUMBER.fullmatch(host.rpartition(".")[2]):  # a number somewhere: 2130706433, 0x7f.1, 0177.0.0.1
        return _address(uri, host)
    return host


def _address(uri: str, host: str) -> str:
    try:
        address = ipaddress.ip_address(host)
    except ValueError as exc:
        raise _ambiguous(uri, "its host is not an IP address in the usual form, such as 192.0.2.1") from exc
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    if "%" in host:
        raise _ambiguous(uri, "its IP address names an interface of this machine")
    return str(mapped or address)


def _check_path(uri: str, path: str) -> None:
    """Refuses dot segments however they are spelled: encoded, twice encoded, with a parameter behind ``;``."""
    for _ in range(_MOST_DECODINGS):
        steps = [step.partition(";")[0] for step in path.split("/")]
        if not set(_DOTS).isdisjoint(steps) or "\\" in path:
            raise _ambiguous(uri, "its path holds '.', '..' or a backslash between slashes")
        decoded = unquote(path)
        if decoded == path:
            return
        path = decoded
    raise _ambiguous(uri, "its path is encoded several times")


def _stored(uri: str, scheme: str, rest: str) -> str:
    """Names in storage mean what they say: nothing is decoded, and dot segments are part of no name."""
    bucket, slash, path = rest.partition("/")
    if not _BUCKET.fullmatch(bucket):
        raise _ambiguous(uri, "its host or bucket is not a name of letters, digits, '-', '_' and '.'")
    if not set(_DOTS).isdisjoint(path.split("/")):
        raise _ambiguous(uri, "its path holds '.' or '..' between slashes")
    return f"{scheme}://{bucket.lower() if scheme == 'hdfs' else bucket}{slash}{path}"


def _ambiguous(uri: str, what: str) -> AmbiguousUri:
    return AmbiguousUri(f"{uri[:_SHOWN]!a} is not a plain URI: {what}")
