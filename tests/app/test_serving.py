"""The screen in a browser: who is let in, who is not, and that Chromium shows it without loading anything remote."""

import asyncio
import shlex
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import pytest
from browser import CHROMIUM, browser

from specview.app import serving
from specview.app.cli import main, parser
from specview.app.serving import GuardedServer, ServeError, listener

SESSION = Path(__file__).resolve().parents[2] / "assets" / "examples" / "bundled-mtp.specview.jsonl"
TOKEN = "the-right-token"


@asynccontextmanager
async def served(*arguments):
    listening = listener(0)
    server = GuardedServer(arguments, listening.getsockname()[1], TOKEN)
    runner = aiohttp.web.AppRunner(await server._make_app(), access_log=None)
    await runner.setup()
    await aiohttp.web.SockSite(runner, listening).start()
    try:
        yield server
    finally:
        await runner.cleanup()


def run(check, *arguments):
    async def whole():
        async with served(*arguments) as server, aiohttp.ClientSession() as client:
            await check(server, client, f"http://127.0.0.1:{server.port}")

    asyncio.run(whole())


@pytest.mark.parametrize(
    "path", ["/", "/?token=wrong", "/ws", "/static/js/textual.js", "/web/page.css", "/no-such-page"]
)
def test_nothing_opens_without_the_token(path):
    async def check(server, client, base):
        async with client.get(base + path, headers={"Origin": base}) as answer:
            assert answer.status == 403
            assert TOKEN not in await answer.text() and "Set-Cookie" not in answer.headers

    run(check)


def test_the_token_becomes_a_cookie_and_leaves_the_address():
    async def check(server, client, base):
        async with client.get(server.address, allow_redirects=False) as answer:
            cookie = answer.headers["Set-Cookie"]
            assert (answer.status, answer.headers["Location"]) == (303, "/")
            assert "HttpOnly" in cookie and "SameSite=Strict" in cookie
        async with client.get(base + "/", cookies={f"specview_{server.port}": TOKEN}) as answer:
            text = await answer.text()
            assert answer.status == 200 and TOKEN not in text
            assert "https://" not in text and "frame-ancestors 'none'" in answer.headers["Content-Security-Policy"]

    run(check)


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1", "127.0.0.1.evil.example:80", ""])
def test_another_host_name_is_refused_even_with_the_token(host):
    async def check(server, client, base):
        async with client.get(server.address, headers={"Host": host}, allow_redirects=False) as answer:
            assert answer.status in (400, 403)

    run(check)


@pytest.mark.parametrize("origin", [None, "http://evil.example", "null", "http://127.0.0.1:1"])
def test_a_socket_from_another_page_is_refused_even_with_the_token(origin):
    async def check(server, client, base):
        headers = {"Cookie": f"specview_{server.port}={TOKEN}"} | ({} if origin is None else {"Origin": origin})
        with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
            await client.ws_connect(f"{base}/ws", headers=headers)
        assert refused.value.status == 403

    run(check)


def test_folders_are_not_listed_and_nothing_outside_them_is_read():
    async def check(server, client, base):
        cookies = {f"specview_{server.port}": TOKEN}
        for path in (
            "/static/",
            "/fonts/",
            "/web/..%2f..%2fpyproject.toml",
            "/fonts/../model/config.json",
            "/download/x",
        ):
            async with client.get(base + path, cookies=cookies) as answer:
                assert answer.status in (403, 404), path

    run(check)


def test_a_socket_with_the_token_shows_the_screen_and_survives_nonsense():
    async def check(server, client, base):
        headers = {"Cookie": f"specview_{server.port}={TOKEN}", "Origin": base}
        async with client.ws_connect(f"{base}/ws?width=100&height=-3", headers=headers) as socket:
            await socket.send_str("{}")
            async for _ in socket:
                pass  # a message that no page of ours sends ends that screen
        async with client.ws_connect(f"{base}/ws?width=100&height=30", headers=headers) as socket:
            shown = b""
            while b"specview" not in shown:
                message = await socket.receive()
                assert message.type is aiohttp.WSMsgType.BINARY, message
                shown += message.data

    run(check, str(SESSION))


def test_the_recordings_own_options_reach_the_screen(monkeypatch, tmp_path):
    started = []

    class Recorded(GuardedServer):
        def run(self, listening):
            started.append(self.command)
            listening.close()

    monkeypatch.setattr(serving, "GuardedServer", Recorded)
    out = tmp_path / "new one.specview.jsonl"
    assert main(["serve", "--port", "0", "--out", str(out), "--k", "3", "--system=-brief"]) == 0
    words = shlex.split(started[0])
    options = parser().parse_args(words[words.index("watch") :])
    assert (options.out, options.k, options.system) == (out, 3, "-brief")


def test_a_port_that_is_taken_is_told_in_a_sentence(capsys):
    taken = listener(0)
    assert main(["serve", str(SESSION), "--port", str(taken.getsockname()[1])]) == 1
    assert "try --port 0" in capsys.readouterr().err
    taken.close()
    with pytest.raises(ServeError, match="is no port"):
        listener(70_000)


def test_a_session_that_is_not_there_is_told_in_a_sentence(capsys, tmp_path):
    assert main(["serve", str(tmp_path / "none.specview.jsonl"), "--port", "0"]) == 1
    assert "There is no session" in capsys.readouterr().err


@pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")
def test_chromium_shows_the_screen_and_loads_nothing_from_elsewhere(tmp_path):
    async def check(server, client, base):
        async with browser(tmp_path) as page:
            await page.open(server.address)
            await page.until("document.body && document.body.classList.contains('-first-byte')")
            assert await page.value("location.href") == base + "/"
            await page.until("document.querySelectorAll('canvas').length > 0")
            await page.value("document.querySelector('textarea').focus()")
            await page.press("q")
            await page.until("document.body.classList.contains('-closed')")
            assert page.said == []
            assert all(url.startswith((base, f"ws://127.0.0.1:{server.port}", "data:", "about:")) for url in page.asked)

    run(check, str(SESSION))
