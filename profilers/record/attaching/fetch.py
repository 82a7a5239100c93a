"""One GET of one page from a server that nobody vouches for: bounded in time and size, and never sent elsewhere."""

from __future__ import annotations

import io
import re
import socket
import ssl
import time
from collections.abc import Callable
from dataclasses import dataclass
from http.client import HTTPException, HTTPResponse, IncompleteRead
from typing import IO, Any, cast

from ....engine.errors import SpecviewError
from ..codec import safe_text
from .address import Address

CHUNK_BYTES = 64 * 1024
HEAD_BYTES = 256 * 1024

Resolve = Callable[..., list[tuple[Any, ...]]]


class FetchFailed(SpecviewError):
    """A page that could not be had; the text names the address and says what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How long to wait for a connection and for everything together, and how much to take."""

    connect_s: float = 3.0
    whole_s: float = 5.0
    body_bytes: int = 4 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The body of a page, whole; `kind` is the media type that the server gives it."""

    body: bytes
    kind: str = ""


LIMITS = Limits()


def fetch(
    address: Address,
    limits: Limits = LIMITS,
    clock: Callable[[], float] = time.monotonic,
    resolve: Resolve = socket.getaddrinfo,
) -> Answer:
    """Return the page at `address`; FetchFailed in one sentence for everything else, a redirect included.

    No proxy, no cookie, no password and no key is used, and no compression is asked for. `clock` counts seconds.
    """
    shown = address.shown
    deadline = clock() + limits.whole_s
    try:
        with _connected(address, limits, deadline, clock, resolve) as connection:
            connection.settimeout(_left(deadline, clock))
            connection.sendall(_request(address))
            return _answer(address, _Incoming(connection, deadline, clock, limits), limits)
    except TimeoutError:
        raise FetchFailed(
            f"{shown} did not answer within {limits.whole_s:g} seconds; see whether the server is busy or stopped."
        ) from None
    except _TooMuch:
        raise FetchFailed(
            f"{shown} sends more than {limits.body_bytes >> 20} MB, which no metrics page is; check the address."
        ) from None
    except IncompleteRead:
        raise FetchFailed(f"{shown} broke off in the middle of its answer; see whether the server crashed.") from None
    except ssl.SSLCertVerificationError as error:
        why = safe_text(error.verify_message or "unknown reason")
        raise FetchFailed(
            f"The certificate of {shown} is not trusted ({why}); set SSL_CERT_FILE to one that is, or use http."
        ) from None
    except ssl.SSLError:
        raise FetchFailed(f"{shown} does not speak TLS; write http:// where the server has no certificate.") from None
    except (HTTPException, ValueError):
        raise FetchFailed(
            f"{shown} does not answer in HTTP; check the port, and write https:// if the server has a certificate."
        ) from None
    except OSError as error:
        why = (error.strerror or "unknown error").lower()
        raise FetchFailed(f"{shown} cannot be read ({why}); see whether the server still runs.") from None


class _TooMuch(Exception):
    """More bytes came than a page may have."""


def _left(deadline: float, clock: Callable[[], float]) -> float:
    left = deadline - clock()
    if left <= 0:
        raise TimeoutError
    return left


def _connected(
    address: Address, limits: Limits, deadline: float, clock: Callable[[], float], resolve: Resolve
) -> socket.socket:
    """A connection to the first place of the host that takes one, inside TLS where the address says so."""
    shown = address.shown
    try:
        places = resolve(address.host, address.port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise FetchFailed(f"The server of {shown} is not known by that name; check its spelling.") from None
    failure: OSError | None = None
    for family, kind, protocol, _, place in places:
        try:
            connection = socket.socket(family, kind, protocol)
        except OSError as error:
            failure = error
            continue
        try:
            connection.settimeout(min(limits.connect_s, _left(deadline, clock)))
            connection.connect(place)
            if address.scheme == "https":
                connection.settimeout(_left(deadline, clock))
                context = ssl.create_default_context()
                return context.wrap_socket(connection, server_hostname=address.host.partition("%")[0])
            return connection
        except ssl.SSLError:
            connection.close()
            raise
        except OSError as error:
            connection.close()
            failure = error
        except BaseException:
            connection.close()
            raise
    if isinstance(failure, TimeoutError):
        raise FetchFailed(f"{shown} takes no connection; check the address, and that no firewall is between.") from None
    why = "" if failure is None or isinstance(failure, ConnectionRefusedError) else f" ({failure.strerror})".lower()
    raise FetchFailed(f"Nothing listens at {shown}{why}; start the server, or check its port.") from None


def _request(address: Address) -> bytes:
    return (
        f"GET {address.target} HTTP/1.1\r\n"
        f"Host: {address.authority}\r\n"
        "User-Agent: specview\r\n"
        "Accept: text/plain; version=0.0.4\r\n"
        "Accept-Encoding: identity\r\n"
        "Connection: close\r\n\r\n"
    ).encode("ascii")


class _Incoming(io.RawIOBase):
    """What a connection brings, until the deadline or too many bytes, however slowly they trickle."""

    def __init__(self, connection: socket.socket, deadline: float, clock: Callable[[], float], limits: Limits) -> None:
        super().__init__()
        self._connection, self._deadline, self._clock = connection, deadline, clock
        self._bytes_left = limits.body_bytes + HEAD_BYTES

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        self._connection.settimeout(_left(self._deadline, self._clock))
        count = self._connection.recv_into(buffer)
        self._bytes_left -= count
        if self._bytes_left < 0:
            raise _TooMuch
        return count

    def makefile(self, *_: object) -> IO[bytes]:
        """What http.client asks a socket for."""
        return io.BufferedReader(self, CHUNK_BYTES)


def _answer(address: Address, incoming: _Incoming, limits: Limits) -> Answer:
    response = HTTPResponse(cast(socket.socket, incoming), method="GET")
    response.begin()
    if response.status != 200:
        raise FetchFailed(_refusal(address, response.status, response.getheader("Location")))
    coding = (response.getheader("Content-Encoding") or "identity").strip().lower()
    if coding not in ("", "identity"):
        raise FetchFailed(
            f"{address.shown} answers compressed ({safe_text(coding)[:40]}) without being asked to; "
            "give the address of the server itself, not of a proxy before it."
        )
    if response.length is not None and response.length > limits.body_bytes:
        raise _TooMuch
    body = bytearray()
    while piece := response.read(CHUNK_BYTES):
        body += piece
        if len(body) > limits.body_bytes:
            raise _TooMuch
    if response.length:
        raise IncompleteRead(b"")
    if response.length is None and not response.chunked:
        # nothing said how long it is, so a number at the very end may have been cut
        del body[body.rfind(b"\n") + 1 :]
    kind = re.match(r"[\w.+/-]{1,80}", response.getheader("Content-Type") or "")
    return Answer(body=bytes(body), kind=kind[0].lower() if kind else "")


def _refusal(address: Address, status: int, location: str | None) -> str:
    shown = address.shown
    if 300 <= status < 400:
        elsewhere = f" to {safe_text(location).partition('?')[0][:200]}" if location else ""
        return f"{shown} sends elsewhere{elsewhere}; only the given address is asked, so give that one if you trust it."
    if status in (401, 403):
        return (
            f"{shown} wants a key ({status}), and specview sends none; "
            "open the metrics page to this machine, or ask the server itself instead of the gateway before it."
        )
    if status in (404, 405, 501):
        return (
            f"There is no metrics page at {shown} ({status}); start llama-server with --metrics or SGLang with "
            "--enable-metrics, or give the page's whole address."
        )
    if status == 503:
        return f"{shown} is not ready ({status}); wait until the server has loaded its model."
    if status >= 500:
        return f"{shown} fails ({status}); look into the server's log."
    return f"{shown} refuses the question ({status}); check the address."
