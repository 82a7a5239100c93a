"""The address of a metrics page as a person types it, checked before anything is sent anywhere."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import quote, urlsplit

from ....engine.errors import SpecviewError
from ..codec import safe_text

DEFAULT_TARGET = "/metrics"
LONGEST = 2048

_PORTS = {"http": 80, "https": 443}
_SPACE_OR_CONTROL = re.compile(r"[\x00-\x20\x7f-\x9f\u2028\u2029]")


class AddressError(SpecviewError):
    """A text that is no address of a metrics page; the text says what to write."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """Where one page is: `target` is what is asked for there, the path with its query."""

    scheme: str
    host: str
    port: int
    target: str

    @property
    def authority(self) -> str:
        """Host and port as the header Host wants them, without the zone of an IPv6 address."""
        host = self.host.partition("%")[0]
        host = f"[{host}]" if ":" in host else host
        return host if self.port == _PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def shown(self) -> str:
        """The address for sentences: safe to print, and without its query, which may hold keys."""
        return safe_text(f"{self.scheme}://{self.authority}{self.target.partition('?')[0]}")


def parsed_address(text: str) -> Address:
    """Return the address that `text` names: http unless it says https, /metrics unless it has a path."""
    if len(text) > LONGEST:
        raise AddressError(f"An address of {len(text):,} characters is none; write http://localhost:8000/metrics.")
    given = text.strip()
    if not given or _SPACE_OR_CONTROL.search(given):
        raise AddressError("An address has no blanks in it and is not empty; write http://localhost:8000/metrics.")
    shown = safe_text(given.rpartition("@")[2] if "@" in given else given)[:200]
    try:
        parts = urlsplit(given if "://" in given else f"http://{given}")
        host, port = parts.hostname or "", parts.port
        credentials = parts.username is not None or parts.password is not None
    except ValueError:
        raise AddressError(f"{shown} is no address; write http://localhost:8000/metrics.") from None
    if parts.scheme not in _PORTS:
        raise AddressError(f"{safe_text(parts.scheme)[:20]} is not asked: specview speaks http and https only.")
    if credentials:
        raise AddressError("specview sends no passwords: leave out what stands before the @ of the address.")
    if not host or port == 0:
        raise AddressError(f"{shown} names no server; write http://localhost:8000/metrics.")
    path = parts.path if parts.path not in ("", "/") else DEFAULT_TARGET
    target = quote(path, safe="/%:@!$&'()*+,;=-._~")
    if parts.query:
        target += "?" + quote(parts.query, safe="/%:@!$&'()*+,;=-._~?[]")
    return Address(scheme=parts.scheme, host=_ascii(host), port=port or _PORTS[parts.scheme], target=target)


def _ascii(host: str) -> str:
    if host.isascii():
        return host
    try:
        return host.encode("idna").decode("ascii")
    except UnicodeError:
        raise AddressError(f"{safe_text(host)[:200]} is no name of a server; check its spelling.") from None
