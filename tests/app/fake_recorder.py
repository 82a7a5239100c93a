"""A recorder that measures nothing: `fake_recorder.py MODE OUT SOURCE HEARD` replays, dies, stalls, lies or deafens.

It copies SOURCE to OUT as a recorder would write it, and every command it hears to HEARD.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path

mode, out, source, heard = sys.argv[1], *(Path(name) for name in sys.argv[2:5])


def say(event: str, **facts: object) -> None:
    print(json.dumps({"event": event, **facts}), flush=True)


def write(lines: list[bytes]) -> None:
    with out.open("ab") as file:
        for line in lines:
            file.write(line)


lines = source.read_bytes().splitlines(keepends=True)
footer = [line for line in lines if b'"kind":"footer"' in line]
body = [line for line in lines if line not in footer]
if mode == "fails":
    say("failed", message="MLX cannot be loaded: install specview[cpu].")
    sys.exit(1)
say("loading", what="model bundled")
if mode == "dies early":
    print("Traceback: nothing works\nImportError: no model here", file=sys.stderr)
    sys.exit(3)
if mode == "lies":
    print("hello, I am no JSON \x1b[31m", flush=True)
    print('{"event": "dancing"}', flush=True)
    print('{"event": "progress", "prompts_done": "many", "prompts_all": -1e400}', flush=True)
say("session", name=out.name)
write(body)
say("progress", prompts_done=2.5, prompts_all=6, rounds=100)
if mode == "dies":
    os.kill(os.getpid(), signal.SIGKILL)
if mode == "finishes":
    write(footer)
    say("finished", status="finished", reason=None)
    sys.exit(0)
if mode == "deaf":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    while True:
        signal.pause()
for line in sys.stdin:  # replays, stalls, lies: wait for commands until the app is gone
    with heard.open("a") as file:
        file.write(line)
    if json.loads(line)["action"] == "stop":
        break
write(footer)
say("finished", status="stopped", reason="the app asked for it")
