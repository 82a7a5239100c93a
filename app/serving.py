"""`specview serve`: the screen in a browser of this machine, behind a token, on loopback only."""

from __future__ import annotations

import argparse
import asyncio
import hmac
import secrets
import shlex
import signal
import socket
import sys
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import aiohttp_jinja2
import jinja2
import textual_serve.server
from aiohttp import web
from textual_serve.app_service import AppService
from textual_serve.server import Server

from ..engine.errors import SpecviewError
from .settings import PACKAGE

LOOPBACK = "127.0.0.1"
NAMES = (LOOPBACK, "localhost")
LARGEST_MESSAGE_BYTES = 64 * 1024
STATIC = Path(textual_serve.server.__file__).parent / "static"
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class ServeError(SpecviewError):
    """The screen cannot be served."""


def serve(options: argparse.Namespace) -> int:
    """Serve the screen until Ctrl+C; prints the address, token included, once."""
    from .watching import check_shown, option_words, recorder_options

    check_shown(options)
    wanted = [*recorder_options(options)]
    if options.out is not None:
        wanted += option_words("--out", str(options.out.resolve()))
    if options.session is not None:
        if not options.session.is_file():
            raise ServeError(f"There is no session {options.session.name}; specview list shows which there are.")
        wanted = [str(options.session.resolve()), *wanted]
    listening = listener(options.port)
    server = GuardedServer(wanted, listening.getsockname()[1], secrets.token_urlsafe(24))
    print(f"specview is at {server.address}", flush=True)
    print("Only this machine reaches it, and only with this address. Ctrl+C ends it.", flush=True)
    server.run(listening)
    return 0


def listener(port: int) -> socket.socket:
    """A socket on loopback; 0 takes any free port."""
    if not 0 <= port <= 65535:
        raise ServeError(f"--port {port} is no port: take one between 1024 and 65535.")
    try:
        return socket.create_server((LOOPBACK, port))
    except OSError as error:
        raise ServeError(
            f"Port {port} cannot be used ({(error.strerror or 'taken').lower()}): try --port 0."
        ) from error


class GuardedServer(Server):
    """Textual's web server with a lock on every door.

    Each request must name this host (against DNS rebinding) and carry the token; a socket must also come from a page
    of this server. The token comes once in the address and is a cookie from then on. One browser at a time: a newer
    one takes the screen over, because two recordings at once would measure each other.
    """

    def __init__(self, arguments: Sequence[str], port: int, token: str) -> None:
        command = shlex.join([sys.executable, "-m", "specview", "watch", *arguments])
        super().__init__(command, host=LOOPBACK, port=port, title="specview")
        self._token = token
        self._shown: web.WebSocketResponse | None = None
        self._turn = asyncio.Lock()

    @property
    def address(self) -> str:
        """Where the screen is, with the token that opens it."""
        return f"http://{LOOPBACK}:{self.port}/?token={self._token}"

    def run(self, listening: socket.socket) -> None:
        """Serve on an open socket until interrupted."""
        loop = asyncio.new_event_loop()
        for ending in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(ending, self.request_exit)
        web.run_app(  # without an access log: it would hold the token
            self._make_app(), sock=listening, handle_signals=False, loop=loop, print=None, access_log=None
        )

    async def _make_app(self) -> web.Application:
        app = web.Application(middlewares=[self._guarded], client_max_size=LARGEST_MESSAGE_BYTES)
        aiohttp_jinja2.setup(app, loader=jinja2.FileSystemLoader(PACKAGE / "assets" / "web"), autoescape=True)
        app.add_routes(
            [
                web.get("/", self.handle_index),
                web.get("/ws", self.handle_websocket),
                web.static("/static", STATIC),
                web.static("/fonts", PACKAGE / "assets" / "fonts"),
                web.static("/web", PACKAGE / "assets" / "web"),
            ]
        )
        return app

    @property
    def _cookie(self) -> str:
        """Cookies are shared by the ports of a host, so the name holds the port."""
        return f"specview_{self.port}"

    @web.middleware
    async def _guarded(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        if request.headers.get("Host", "") not in {f"{name}:{self.port}" for name in NAMES}:
            return _refused("This server answers to this machine's own names only.")
        origin = request.headers.get("Origin")
        if origin not in self._origins and (origin is not None or request.path == "/ws"):
            return _refused("This page belongs to another site.")
        if request.path == "/" and self._is_token(request.query.get("token", "")):
            moved = web.Response(status=303, headers={"Location": "/"})
            moved.set_cookie(self._cookie, self._token, httponly=True, samesite="Strict", path="/")
            return self._sealed(moved)
        if not self._is_token(request.cookies.get(self._cookie, "")):
            return _refused("Open the whole address that specview serve printed; it holds the token.")
        return self._sealed(await handler(request))

    @property
    def _origins(self) -> set[str]:
        return {f"http://{name}:{self.port}" for name in NAMES}

    def _is_token(self, given: str) -> bool:
        return hmac.compare_digest(given.encode(), self._token.encode())

    def _sealed(self, response: web.StreamResponse) -> web.StreamResponse:
        """The response, told to load nothing from elsewhere, to be in no frame and to stay in no cache."""
        if not response.prepared:
            sockets = " ".join(f"ws://{name}:{self.port}" for name in NAMES)
            response.headers["Content-Security-Policy"] = (
                "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; font-src 'self'; "
                f"img-src 'self' data:; connect-src 'self' {sockets}; "
                "frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
            )
            response.headers["X-Content-Type-Options"] = "nosniff"
            response.headers["Referrer-Policy"] = "no-referrer"
            response.headers["Cache-Control"] = "no-store"
        return response

    async def handle_index(self, request: web.Request) -> web.Response:
        """The page that holds the terminal."""
        size = request.query.get("fontsize", "")
        facts = {
            "title": self.title,
            "socket": f"ws://{request.host}/ws",
            "font_size": min(48, max(6, int(size))) if size.isascii() and size.isdigit() else 16,
        }
        return aiohttp_jinja2.render_template("index.html", request, facts)

    async def handle_websocket(self, request: web.Request) -> web.WebSocketResponse:
        """One screen for one browser, the newest."""
        websocket = web.WebSocketResponse(heartbeat=15, max_msg_size=LARGEST_MESSAGE_BYTES)
        await websocket.prepare(request)
        before, self._shown = self._shown, websocket
        if before is not None:
            await before.close()
        async with self._turn:
            await self._show(websocket, request)
        return websocket

    async def _show(self, websocket: web.WebSocketResponse, request: web.Request) -> None:
        service = _Screen(
            self.command,
            write_bytes=websocket.send_bytes,
            write_str=websocket.send_str,
            close=websocket.close,  # type: ignore[arg-type]  # gives back whether it was open
            download_manager=self.download_manager,
        )
        try:
            await service.start(_cells(request, "width", 80), _cells(request, "height", 24))
            await self._process_messages(websocket, service)
        except (ValueError, TypeError, KeyError, IndexError, AssertionError, AttributeError):
            pass  # a message that no page of ours sends
        except ConnectionError:
            pass
        finally:
            await service.stop()
            await websocket.close()


class _Screen(AppService):
    """One specview process behind a socket."""

    async def stop(self) -> None:
        """Ask it to quit, and wait until it has: its recorder ends with it."""
        await super().stop()
        if self._process is not None:
            await self._process.wait()


def _cells(request: web.Request, name: str, otherwise: int) -> int:
    text = request.query.get(name, "")
    return min(500, max(1, int(text))) if text.isascii() and text.isdigit() else otherwise


def _refused(why: str) -> web.Response:
    return web.Response(status=403, text=f"{why}\n", headers={"Cache-Control": "no-store"})
