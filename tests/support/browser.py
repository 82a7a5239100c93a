"""A headless Chromium, driven by its own protocol: open an address, press keys, read what came of it."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp

CHROMIUM = next(
    (path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None
)


class Page:
    """One page; `said` are the console's errors and warnings, `asked` every address that it loaded from."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket
        self._last = 0
        self.said: list[str] = []
        self.asked: list[str] = []

    async def call(self, method: str, **facts: Any) -> dict[str, Any]:
        """Send a command and wait for its answer."""
        self._last += 1
        await self._socket.send_json({"id": self._last, "method": method, "params": facts})
        while True:
            answer = json.loads((await self._socket.receive()).data)
            if answer.get("id") == self._last:
                return answer.get("result", answer)
            self._hear(answer)

    def _hear(self, event: dict[str, Any]) -> None:
        facts = event.get("params", {})
        if event.get("method") == "Log.entryAdded" and facts["entry"]["level"] == "error":
            self.said.append(facts["entry"]["text"])
        elif event.get("method") == "Runtime.exceptionThrown":
            self.said.append(str(facts["exceptionDetails"]))
        elif event.get("method") == "Network.requestWillBeSent":
            self.asked.append(facts["request"]["url"])

    async def open(self, address: str) -> None:
        """Go to an address."""
        for domain in ("Page", "Runtime", "Log", "Network"):
            await self.call(f"{domain}.enable")
        await self.call("Page.navigate", url=address)

    async def value(self, expression: str) -> Any:
        """What a JavaScript expression is."""
        answer = await self.call("Runtime.evaluate", expression=expression)
        return answer.get("result", {}).get("value")

    async def until(self, expression: str, tries: int = 200) -> None:
        """Wait until an expression is true."""
        for _ in range(tries):
            if await self.value(expression):
                return
            await asyncio.sleep(0.1)
        raise AssertionError(f"never true: {expression}; the console said {self.said}")

    async def press(self, letter: str) -> None:
        """Type one letter into what has the focus."""
        await self.call("Input.dispatchKeyEvent", type="keyDown", text=letter, key=letter)
        await self.call("Input.dispatchKeyEvent", type="keyUp", key=letter)


@asynccontextmanager
async def browser(folder: Path) -> AsyncIterator[Page]:
    """A page of a fresh browser, whose profile lies in a folder."""
    assert CHROMIUM is not None
    process = await asyncio.create_subprocess_exec(
        CHROMIUM, "--headless=new", "--no-sandbox", "--disable-gpu", "--enable-unsafe-swiftshader",
        "--remote-debugging-port=0", f"--user-data-dir={folder}", "--window-size=1200,800", "about:blank",
        stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    assert process.stderr is not None
    try:
        line = ""
        while "DevTools listening on ws://" not in line:
            read = await process.stderr.readline()
            assert read, "Chromium did not start"
            line = read.decode()
        place = line.split("ws://")[1].split("/")[0]
        async with aiohttp.ClientSession() as client:
            async with client.put(f"http://{place}/json/new?about:blank") as answer:
                address = (await answer.json(content_type=None))["webSocketDebuggerUrl"]
            async with client.ws_connect(address, max_msg_size=0) as socket:
                yield Page(socket)
    finally:
        process.terminate()
        await process.communicate()
