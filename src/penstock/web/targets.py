"""Where a webhook may go: to public addresses, and to the hosts that a setting names. Checked when it is made and at every connect."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Collection
from typing import NamedTuple
from urllib.parse import SplitResult, urlsplit

from penstock.errors import OptionFault

_HINT = "the setting webhook_allow names hosts to which webhooks may go all the same"


class Target(NamedTuple):
    """A URL whose host was resolved: the connection goes to one of these very addresses."""

    scheme: str
    host: str
    port: int
    addresses: tuple[str, ...]
    path: str


def resolve(url: str, allowed: Collection[str]) -> Target:
    """OptionFault where a webhook may not go."""
    parts, host, port = _parts(url)
    try:
        found = [str(entry[4][0]).partition("%")[0] for entry in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]
    except (OSError, UnicodeError):
        found = []
    if not found:
        raise OptionFault(f"the host {host} cannot be found", hint="check how it is written")
    if host.lower() not in {name.strip().lower() for name in allowed if name.strip()}:
        inside = next((address for address in found if not _is_public(address)), None)
        if inside is not None:
            raise OptionFault(f"a webhook does not go to {host}: {inside} is no public address", hint=_HINT)
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return Target(parts.scheme, host, port, tuple(dict.fromkeys(found)), path)


def _parts(url: str) -> tuple[SplitResult, str, int]:
    """A URL with its host and port."""
    try:
        parts = urlsplit(url)
        port = (443 if parts.scheme == "https" else 80) if parts.port is None else parts.port
    except ValueError:
        raise OptionFault(f"`{url[:200]}` is no URL", hint="https://host/path") from None
    if parts.scheme not in ("http", "https") or not parts.hostname or not port or parts.username is not None or any(ord(mark) <= 32 for mark in url):
        raise OptionFault("a webhook goes to http or https, to a host and without a user in it", hint="https://host/path")
    return parts, parts.hostname, port


def _is_public(address: str) -> bool:
    found = ipaddress.ip_address(address)
    if isinstance(found, ipaddress.IPv6Address):
        inner = found.ipv4_mapped or found.sixtofour or (found.teredo[1] if found.teredo else None)
        if inner is not None:
            found = inner
        elif found in ipaddress.ip_network("64:ff9b::/96"):
            found = ipaddress.IPv4Address(int(found) & 0xFFFFFFFF)
    return found.is_global and not found.is_multicast
