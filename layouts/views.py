"""Session and ledger to everything the dashboard shows; pure, and without Textual."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace

import numpy as np

from ..engine.errors import SpecviewError
from ..engine.limits import LONGEST_DRAFT
from ..profilers.judge.batch import BatchCosts
from ..profilers.judge.batch_table import batch_costs
from ..profilers.judge.blocks_table import BlocksTable, blocks_table
from ..profilers.judge.cloud import cloud_of
from ..profilers.judge.event_rows import columns_of
from ..profilers.judge.floors import Floors, NoFloor, floors_of
from ..profilers.judge.ledger import Ledger, ledger_of
from ..profilers.judge.sided import one_side
from ..profilers.judge.visits import Setting
from ..profilers.record.plan import ONE_PASS
from ..profilers.record.records import Round, Run
from ..profilers.record.session import Session
from . import figures
from .costs import NO_RULERS, Rulers, break_even_view, decode_view, rulers_of, verify_view
from .costs_only import (
    NO_PASSES,
    CostsFacts,
    costs_facts,
    costs_headline,
    costs_line,
    costs_rounds,
    costs_stream,
    is_costs_only,
)
from .headline import headline, imported_headline, known_headline
from .imported_line import imported_break_even, limit_words
from .imported_rows import imported_rounds
from .imported_view import UNKNOWN, ImportedFacts, imported_decode, imported_facts, imported_verify, setting_of
from .rounds import rounds_view
from .states import WORDS
from .stream import stream_view
from .synthetic import drafter_words
from .view_models import BreakEvenView, DashboardView, Live, StatusView, StreamView, WhatIf
from .what_if import asked_rounds, asked_verify

MANY_PROBES = 5_000
HARDLY_MORE = 0.02
WORTH_TELLING_S = 3.0  # how far the screen may lie behind a growing file without a word


@dataclass(frozen=True, slots=True)
class Reckoning:
    """What a session says once its numbers are computed; `why_not` where they could not be.

    `costs` are those of a survey, in which nothing is generated, `imported` what another engine counted. Computing
    takes tens of milliseconds and is done off the screen's thread; every view is made from this.
    """

    session: Session
    ledger: Ledger | None
    blocks: BlocksTable | None
    share_by_drafted: Mapping[int, float]
    stream: StreamView
    why_not: str = ""
    rulers: Rulers = NO_RULERS
    costs: CostsFacts | None = None
    imported: ImportedFacts | None = None
    floors: Floors | NoFloor | None = None
    batches: Mapping[int, BatchCosts] = field(default_factory=dict)
    timed: int = 0
    cloud: tuple[tuple[float, float], ...] = ()

    @property
    def unfinished(self) -> bool:
        """Whether blocks and rulers lag behind the probes of the session."""
        return self.timed < len(self.session.probes)


def reckon(session: Session, before: Reckoning | None = None) -> Reckoning:
    """Compute everything a session says. Whatever it holds, this returns: an unfit session is a state, not a crash.

    With what was computed `before` of a session that still grows, the sums of very many block timings are made anew
    only when there are clearly more of them.
    """
    ledger, why_not, shares, costs = None, "", {}, None
    try:
        if is_costs_only(session):
            costs = costs_facts(session)
        else:
            ledger = ledger_of(session)
            shares = _shares(session, ledger)
    except SpecviewError as error:
        why_not = str(error)
    except (ArithmeticError, ValueError) as error:
        why_not = f"The numbers in this file do not fit together ({error}), so nothing can be computed from them."
    timed = len(session.probes)
    if before is not None and _nearly_the_same(session, ledger, before):
        blocks, rulers, timed = before.blocks, before.rulers, before.timed
    else:
        blocks, rulers = _blocks(session, ledger)
    imported = None
    if costs is None:
        try:
            imported = imported_facts(session, ledger)
        except (SpecviewError, ArithmeticError, ValueError) as error:
            why_not = why_not or f"The figures in this file do not fit together ({error})."
    floors, batches = _limits(session)
    stream = costs_stream() if costs is not None else stream_view(session)
    if imported is not None and not stream.pieces:
        stream = imported.windows
    cloud = () if ledger is None else cloud_of(session, ledger.setting)
    return Reckoning(
        session, ledger, blocks, shares, stream, why_not, rulers, costs, imported, floors, batches, timed, cloud
    )


def _blocks(session: Session, ledger: Ledger | None) -> tuple[BlocksTable | None, Rulers]:
    """What blocks cost, and what the rulers say of each other."""
    try:
        blocks = blocks_table(session, None if ledger is None else ledger.setting.k + 1)
    except (SpecviewError, ArithmeticError, ValueError):
        blocks = None
    try:
        return blocks, rulers_of(session)
    except (SpecviewError, ArithmeticError, ValueError):
        return blocks, NO_RULERS


def _nearly_the_same(session: Session, ledger: Ledger | None, before: Reckoning) -> bool:
    """Whether a growing session has so few probes more, of so many, that their sums may stay for a while."""
    if session.footer is not None or before.timed < MANY_PROBES or before.session.header is not session.header:
        return False
    k, k_before = (None if each is None else each.setting.k for each in (ledger, before.ledger))
    return k == k_before and before.timed <= len(session.probes) <= before.timed * (1 + HARDLY_MORE)


def _limits(session: Session) -> tuple[Floors | NoFloor | None, Mapping[int, BatchCosts]]:
    """The floors where a census was taken, and the passes of several sequences where those were timed."""
    try:
        floors = floors_of(session) if session.demands else None
        return floors, batch_costs(session) if session.batch_probes else {}
    except (SpecviewError, ArithmeticError, ValueError):
        return None, {}


def _shares(session: Session, ledger: Ledger) -> dict[int, float]:
    """How many rounds of the ledger's setting drafted how much, as shares."""
    runs = {r.run for r in session.runs if r.arm != "plain" and _of(r, ledger.setting)}
    rounds = columns_of(one_side(session).rounds, Round)
    drafted = rounds.column("drafted")
    counted = np.isin(rounds.column("run"), sorted(runs)) & (rounds.column("warm_up") == 0) & (drafted <= LONGEST_DRAFT)
    lengths, firsts, counts = np.unique(drafted[counted], return_index=True, return_counts=True)
    return {int(lengths[i]): int(counts[i]) / int(counts.sum()) for i in np.argsort(firsts)}


def _of(run: Run, setting: Setting) -> bool:
    return all(getattr(run, field.name) == getattr(setting, field.name) for field in fields(Setting))


def dashboard(reckoning: Reckoning, live: Live, what_if: WhatIf) -> DashboardView:
    """Everything on the main screen."""
    session, ledger = reckoning.session, reckoning.ledger
    if reckoning.costs is not None:
        return _costs_only(reckoning, reckoning.costs, live, what_if)
    if reckoning.imported is not None:
        return _imported(reckoning, reckoning.imported, live, what_if)
    break_even = break_even_of(reckoning, what_if)
    shown = known_headline(live, reckoning.why_not) if ledger is None else headline(ledger, live, break_even)
    return DashboardView(
        status=_status(session, ledger, live),
        headline=shown,
        decode=decode_view(session, ledger, reckoning.blocks, reckoning.rulers),
        verify=asked_verify(verify_view(ledger, reckoning.blocks), what_if),
        break_even=break_even,
        stream=reckoning.stream,
        rounds=asked_rounds(rounds_view(session, ledger, live), break_even.what_if),
    )


def break_even_of(reckoning: Reckoning, what_if: WhatIf) -> BreakEvenView:
    """The break-even line of whatever a session holds, with the answer to a what-if."""
    if reckoning.costs is not None:
        return costs_line(reckoning.costs, what_if, reckoning.floors)
    view = break_even_view(reckoning.ledger, reckoning.share_by_drafted, what_if, reckoning.batches, reckoning.floors)
    facts = reckoning.imported
    if facts is None or view.curve is not None:
        return replace(view, cloud=reckoning.cloud)
    return imported_break_even(facts.line, what_if, None if facts.found is None else facts.found.speedup)


def _costs_only(reckoning: Reckoning, costs: CostsFacts, live: Live, what_if: WhatIf) -> DashboardView:
    session = reckoning.session
    decode = decode_view(session, None, reckoning.blocks, reckoning.rulers)
    if decode.whole_ms is None and decode.sum_ms is None:
        decode = replace(decode, message=NO_PASSES)
    return DashboardView(
        status=_status(session, None, live),
        headline=costs_headline(session, costs, live),
        decode=decode,
        verify=asked_verify(
            replace(verify_view(None, reckoning.blocks, dict(costs.widths)), no_widths=NO_PASSES), what_if
        ),
        break_even=break_even_of(reckoning, what_if),
        stream=reckoning.stream,
        rounds=costs_rounds(session, rounds_view(session, None, live)),
    )


def _imported(reckoning: Reckoning, facts: ImportedFacts, live: Live, what_if: WhatIf) -> DashboardView:
    """What another engine counted; a ledger of its rounds, where there is one, draws the break-even line."""
    session, ledger, blocks = reckoning.session, reckoning.ledger, reckoning.blocks
    break_even = break_even_of(reckoning, what_if)
    shown = imported_headline(facts.found, facts.others, limit_words(facts.line, break_even), live)
    return DashboardView(
        status=_status(session, ledger, live, setting_of(session, facts.found)),
        headline=shown,
        decode=imported_decode(session, ledger, blocks, reckoning.rulers, facts),
        verify=imported_verify(session, ledger, blocks, facts),
        break_even=break_even,
        stream=reckoning.stream,
        rounds=asked_rounds(imported_rounds(session, facts.found, facts.draft_step_ms), break_even.what_if),
    )


def trouble_of(session: Session, live: Live) -> str:
    """One sentence about what is wrong with the recorder or the file, if anything is."""
    if live.trouble:
        return live.trouble
    if session.footer is not None and session.footer.status == "failed":
        return f"This recording failed: {session.footer.reason or 'it did not say why'}."
    refused = [note for note in session.notes if "refused" in note.tags]
    if refused and (not session.runs or refused[-1].t_ns > session.runs[-1].started_ns):
        return refused[-1].text
    if session.problems:
        first = session.problems[0]
        lines = figures.count(len(session.problems), "line")
        return f"{lines} of the file could not be read; the first is line {first.line}: {first.text}"
    return ""


def _status(session: Session, ledger: Ledger | None, live: Live, told: tuple[str, ...] | None = None) -> StatusView:
    """`told` is what another engine tells of itself and its drafts."""
    header = session.header
    model = header.model.id if header.model.quantisation is None else f"{header.model.id} {header.model.quantisation}"
    drafts = ["costs only"] if is_costs_only(session) else _drafts(session, ledger)
    parts = [model, *drafts, header.environment.device or ""]
    if told is not None:
        parts = ["" if model == UNKNOWN else model, *told, header.environment.device or ""]
    word = WORDS[live.state]
    if live.measures and live.doing and live.state in ("loading", "recording"):
        word = f"{'◌ loading' if live.state == 'loading' else '●'} {live.doing}"
    if live.behind_s > WORTH_TELLING_S:
        word = f"{word}, up to {live.behind_s:.0f} s behind"
    if live.state == "saved":
        word = f"{word}, {session.status}"
    return StatusView(
        title=f"specview — {' · '.join(part for part in parts if part)}",
        state=live.state,
        word=word,
        seconds=_last_ns(session) / 1e9,
        progress=live.progress,
    )


def _drafts(session: Session, ledger: Ledger | None) -> list[str]:
    """Drafter, rule, and whatever is not usual about them."""
    if ledger is None:
        drafter = session.header.drafter
        return ["none k=0"] if drafter is None else [f"{drafter_words(drafter.kind)} k={drafter.k or 0}"]
    setting = ledger.setting
    parts = [f"{drafter_words(setting.drafter)} {'adaptive k≤' if setting.adaptive else 'k='}{setting.k}"]
    rule = f"{setting.rule} at {setting.temperature:g}" if setting.temperature else setting.rule
    parts.append(f"{rule}, top-p {setting.top_p:g}" if setting.temperature and setting.top_p < 1 else rule)
    if setting.policy not in (None, ONE_PASS):
        parts.append(f"verify in {setting.policy}")
    if setting.kv_bits:
        parts.append(f"{setting.kv_bits}-bit keys and values")
    return parts


def _last_ns(session: Session) -> int:
    probes = (session.probes, session.batch_probes)
    timed = (session.rounds, session.steps, *probes, session.memory, session.counters)
    lasts = [group[-1].t_ns for group in timed if group]
    if session.footer is not None:
        lasts.append(session.footer.t_ns)
    return max(lasts, default=0)
