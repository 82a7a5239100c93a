"""`specview attach`: watches a running vLLM, SGLang or llama-server by its metrics page, on the screen or without."""

from __future__ import annotations

import argparse
import io
import json
import math
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Any

from rich.console import Console

from ..engine.errors import SpecviewError
from ..layouts.figures import count
from ..layouts.summary import as_object, summary_lines
from ..profilers.record import records
from ..profilers.record.attaching.account import ArmAccount, account_of
from ..profilers.record.attaching.address import Address, parsed_address
from ..profilers.record.attaching.attach_plan import AttachError, AttachPlan
from ..profilers.record.attaching.attachment import Attachment
from ..profilers.record.attaching.fetch import Answer, fetch
from ..profilers.record.attaching.page import look_at, text_of
from ..profilers.record.attaching.polling import Pace
from ..profilers.record.plan import Budget, parsed_budget
from ..profilers.record.session import Session, read_session
from ..profilers.record.steering import Steering
from ..profilers.record.store import SessionStore, new_session_path
from .recording import Reports, StopOnSignal
from .settings import sessions_folder, shown_path
from .terminal import on_terminal

SIGN_OF_LIFE_NS = 5_000_000_000
PASSED_ON = ("interval", "baseline_tps", "budget")


def add_attach(parser: argparse.ArgumentParser) -> None:
    """Give the command its arguments."""
    add = parser.add_argument
    add("url", metavar="URL", help="the server's metrics page; without a path /metrics is asked for")
    add("--interval", type=float, default=1.0, metavar="S", help="seconds between looks (default 1)")
    add("--baseline-tps", type=float, metavar="X", help="plain decode's tokens per second, where you know it")
    add("--budget", help="stop after 30s, 5m, 1h, or a number of rounds (default: when you stop it)")
    add("--out", type=Path, help="the session file to write (default: a new one among the sessions)")
    add("--no-screen", action="store_true", help="do not open the screen, print a summary at the end")
    add("--json", action="store_true", help="the summary as one JSON object; implies --no-screen")
    add("--light", action="store_true", help="start with the light theme")
    add("--control", action="store_true", help="obey one-line JSON commands on stdin; its end stops the recording")


def attach(options: argparse.Namespace) -> int:
    """Watch the server; returns the exit status, 1 by an error if it never answered properly."""
    address = parsed_address(options.url)
    plan = plan_of(options, address)
    if options.control:
        return _controlled(options, plan, address)
    if on_terminal() and not (options.no_screen or options.json):
        # what is wrong with the address is better said here than on an empty screen
        look_at(text_of(fetch(address)), address.shown, 0)
        return _on_screen(options)
    return _headless(options, plan, address)


def plan_of(options: argparse.Namespace, address: Address) -> AttachPlan:
    """The plan that command-line options ask for."""
    if not math.isfinite(options.interval):
        raise AttachError("--interval is a number of seconds: choose 0.05 to 60.")
    return AttachPlan(
        shown=address.shown,
        port=address.port,
        pace=Pace(interval_s=options.interval),
        budget=parsed_budget(options.budget) if options.budget else Budget(),
        baseline_tps=options.baseline_tps,
    ).checked()


def recorder_options(options: argparse.Namespace) -> tuple[str, ...]:
    """What the screen's recorder is started with: options, and the address."""
    found = []
    for name in PASSED_ON:
        value = getattr(options, name)
        if value is not None:
            found.append(f"--{name.replace('_', '-')}={value}")
    return (*found, options.url)


def recorder_command(path: Path, options: Sequence[str]) -> list[str]:
    """The command line of a recorder that watches a server, writes `path` and obeys its stdin."""
    return [sys.executable, "-m", "specview", "attach", "--control", "--out", str(path), *options]


def _on_screen(options: argparse.Namespace) -> int:
    from .application import Source, SpecviewApp
    from .watching import look

    source = Source(options.out, record=True, options=recorder_options(options))
    app = SpecviewApp(source, command=recorder_command, **look(options))
    app.run()
    if app.recorded is not None:
        print(f"Saved: {shown_path(app.recorded)}")
    return app.return_code or 0


def _controlled(options: argparse.Namespace, plan: AttachPlan, address: Address) -> int:
    """Watch the server under the eyes of the app: reports on stdout, and the end of stdin stops it."""
    reports = Reports(sys.stdout)
    if isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(encoding="utf8", errors="replace")  # a garbled command is no reason to stop
    reports.say("loading", what=f"the metrics of {plan.shown}")
    try:
        _, footer = _recorded(
            options, plan, address, Steering(sys.stdin), lambda path: reports.say("session", name=path.name)
        )
    except SpecviewError as error:
        reports.say("failed", message=str(error))
        raise
    reports.say("finished", status=footer.status, reason=footer.reason)
    return 0


def _headless(options: argparse.Namespace, plan: AttachPlan, address: Address) -> int:
    errors = Console(stderr=True, highlight=False, markup=False, soft_wrap=True)

    def started(path: Path) -> None:
        errors.print(f"Watching {plan.shown}, into {shown_path(path)}; Ctrl-C ends it.")

    path, footer = _recorded(options, plan, address, Steering(), _once(started))
    session = read_session(path)
    if options.json:
        print(json.dumps({"session": shown_path(path), **_object(session, footer)}))
        return 0
    console = Console(highlight=False, markup=False, soft_wrap=True)
    try:
        for line in _lines(session, footer):
            console.print(line)
    finally:  # also a session that says nothing is there
        console.print(f"Saved: {shown_path(path)}")
    return 0


def _once(told: Callable[[Path], None]) -> Callable[[Path], None]:
    paths: set[Path] = set()

    def tell(path: Path) -> None:
        if path not in paths:
            paths.add(path)
            told(path)

    return tell


def _recorded(
    options: argparse.Namespace,
    plan: AttachPlan,
    address: Address,
    steering: Steering,
    alive: Callable[[Path], None],
) -> tuple[Path, records.Footer]:
    """Record one session; `alive` hears its file when it is there and then every few seconds."""

    def read() -> Answer:
        return fetch(address)

    last_ns = 0

    def told() -> None:
        nonlocal last_ns
        if (now_ns := time.monotonic_ns()) - last_ns >= SIGN_OF_LIFE_NS:
            last_ns = now_ns
            alive(path)

    attachment = Attachment(plan, read, steering, time.monotonic_ns, told)
    stem = f"attached-{attachment.first.engine}"
    path: Path = options.out or new_session_path(sessions_folder(), stem, datetime.now())
    with SessionStore.create(path) as store, StopOnSignal(steering):
        alive(path)
        try:
            return path, attachment.record(store, time.time_ns())
        finally:
            if not store.counts.records:
                path.unlink(missing_ok=True)


def _accounts(session: Session) -> dict[str, ArmAccount | None]:
    return {
        arm: account_of([counters for counters in session.counters if counters.arm == arm])
        for arm in ("drafting", "plain")
    }


def _lines(session: Session, footer: records.Footer) -> Iterator[str]:
    """What was counted, what was remarked, and what it says of drafting."""
    for arm, account in _accounts(session).items():
        yield _account_line("with drafts" if arm == "drafting" else "without drafts", account)
    if footer.status == "stopped" and footer.reason:
        yield f"ended: {footer.reason}"
    try:
        yield from ("", *summary_lines(session))  # guards and notes are among them
    except SpecviewError as error:
        for guard in session.guards:
            yield f"guard: {guard.message} {guard.remedy or ''}".rstrip()
        for note in session.notes:
            yield f"note: {note.text}"
        yield f"no verdict: {error}"


def _account_line(name: str, account: ArmAccount | None) -> str:
    if account is None:
        return f"{name}: nothing was counted"
    parts = [count(account.stretches, "stretch", "stretches")]
    if account.tokens is not None:
        parts.append(count(account.tokens, "token"))
    if account.tokens_per_second is not None:
        parts.append(f"{account.tokens_per_second:.1f} tok/s")
    if account.tokens_per_round is not None:
        parts.append(f"{account.tokens_per_round:.2f} tokens per round")
    if account.per_draft is not None:
        parts.append(f"{account.per_draft:.1%} of drafts accepted")
    if account.accepted_by_position is not None:
        shares = ", ".join(f"{share:.2f}" for share in account.accepted_by_position)
        parts.append(f"cumulative by position {shares}")
    return f"{name}: {', '.join(parts)}"


def _object(session: Session, footer: records.Footer) -> dict[str, Any]:
    try:
        judgement = as_object(session)
    except SpecviewError as error:
        judgement = {"verdict": None, "reason": str(error)}
    return {
        "engine": session.header.source,
        "model": session.header.model.id,
        "status": footer.status,
        "reason": footer.reason,
        **{arm: None if account is None else asdict(account) for arm, account in _accounts(session).items()},
        "notes": [{"text": note.text, "tags": list(note.tags)} for note in session.notes],
        "guards": [{"code": guard.code, "message": guard.message} for guard in session.guards],
        "judgement": judgement,
    }
