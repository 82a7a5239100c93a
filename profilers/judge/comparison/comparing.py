"""Two sessions compared: what differs between them, what changed and how surely, and which part of a round did it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ....engine.errors import SpecviewError
from ...record.session import Session
from ..blocks_table import BlocksTable
from ..counted import counted
from ..ledger import Ledger, ledger_of
from ..verdict import CANARY_LIMIT
from ..visits import Setting, settings_of, switch_of, visits_of
from .blocks import (
    block_quantities,
    canary_quantity,
    gap_quantity,
    pass_quantities,
    tables_of,
    verify_changes,
    wider_and_dearer,
)
from .environments import Difference, UnlikeError, differences, in_order, told, unlike
from .many import split_together, told_together
from .measures import Change, changes_of
from .split import Split, split_of
from .units import Matched, Scope, matched

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
MOST = len(LETTERS)
CANARY_TOLD = 0.03
MOST_NAMED = 3


@dataclass(frozen=True, slots=True)
class Named:
    """A session with the name it is shown by."""

    name: str
    session: Session


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One of the two: its name, the setting that is compared, and its ledger, None with the reason where none can be.

    `doubts` are sentences on why its numbers are not to be trusted, empty for a sound run.
    """

    name: str
    setting: Setting | None
    ledger: Ledger | None
    why_not: str
    doubts: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """One session against the base. `doubts` forbid a headline; `cautions` are to be read with the numbers.

    `scope` is what the intervals are over, `paired` whether both sides are of the same texts; `wider_ms` and
    `dearer_ms` tell apart that verify passes became wider and that they cost more, where widths differ.
    """

    base: Side
    other: Side
    differences: tuple[Difference, ...]
    changes: tuple[Change, ...]
    split: Split | None
    doubts: tuple[str, ...]
    cautions: tuple[str, ...]
    scope: Scope | None
    paired: bool
    units: tuple[int, int]
    prompts: tuple[int, int]
    shared: int
    wider_ms: float | None = None
    dearer_ms: float | None = None

    def change(self, key: str) -> Change | None:
        """A quantity by its key."""
        return next((each for each in self.changes if each.key == key), None)


def compare_all(sessions: Sequence[Named], *, anyway: bool = False) -> tuple[Compared, ...]:
    """Every session against the first; raises UnlikeError for sessions that were not measured alike."""
    if len(sessions) < 2:
        raise SpecviewError("A comparison needs two sessions at least; name another one.")
    if len(sessions) > MOST:
        raise SpecviewError(f"At most {MOST} sessions are compared at once; leave some out.")
    return tuple(compare(sessions[0], each, anyway=anyway, letter=LETTERS[i]) for i, each in enumerate(sessions) if i)


def compare(base: Named, other: Named, *, anyway: bool = False, letter: str = "B") -> Compared:
    """Another session against the base.

    Raises UnlikeError where machine, model or prompts make it no comparison, unless it is wanted `anyway`, and
    SpecviewError where the two measured nothing in common.
    """
    settings = _settings(base.session, other.session)
    units = _matched(base.session, other.session, settings)
    found = in_order((*differences(base.session.header, other.session.header, *settings), *_prompts(units)))
    refused = unlike(found)
    if refused and not anyway:
        raise UnlikeError(_refusal(base.name, other.name, refused, letter), found)
    sides = _side(base, settings[0]), _side(other, settings[1])
    widths = _width(settings[0]), _width(settings[1])
    tables = tables_of(base.session, other.session, widths)
    blocks = verify_changes(tables[0], tables[1], widths if widths != (None, None) else _timed(tables))
    lengths = settings[0] is not None and settings[1] is not None and settings[0].k != settings[1].k
    split = None if units is None else split_of(units, blocks, lengths_differ=lengths)
    canary = canary_quantity(base.session, other.session)
    changes = (
        *(() if units is None else changes_of(units)),
        *block_quantities(blocks),
        *gap_quantity(tables[0], tables[1]),
        *pass_quantities(base.session, other.session),
        *canary,
    )
    if not any(each.difference is not None for each in changes):
        raise SpecviewError(f"{base.name} and {other.name} have no measurement in common, so nothing can be compared.")
    cost = _wider(base.session, other.session, widths)
    return Compared(
        base=sides[0],
        other=sides[1],
        differences=found,
        changes=told_together(changes),
        split=None if split is None else split_together(split),
        doubts=(*_doubts(sides, letter), *_slowed(canary, found, letter)),
        cautions=(
            *_unlike_anyway(refused),
            *_same_twice(base.session, other.session),
            *_unended((("A", base), (letter, other))),
            *_one_sided((("A", base), (letter, other))),
            *_cautions(units, found, canary, letter),
        ),
        scope=None if units is None else units.scope,
        paired=units is not None and units.paired,
        units=(0, 0) if units is None else (len(units.base), len(units.other)),
        prompts=(0, 0) if units is None else (units.base_prompts, units.other_prompts),
        shared=0 if units is None else units.shared,
        wider_ms=None if cost is None else cost[0],
        dearer_ms=None if cost is None else cost[1],
    )


def _refusal(base: str, other: str, refused: Sequence[Difference], letter: str) -> str:
    named = "; ".join(told(each, "A", letter) for each in refused[:MOST_NAMED])
    if len(refused) > MOST_NAMED:
        named += f"; and {', '.join(each.fact for each in refused[MOST_NAMED:])} too"
    return (
        f"{base} (A) and {other} ({letter}) were not measured alike: {named}. A difference in speed would say nothing "
        "about drafts."
    )


def _unlike_anyway(refused: Sequence[Difference]) -> list[str]:
    if not refused:
        return []
    return [f"Not measured alike ({', '.join(each.fact for each in refused)}): what differs may be all there is to it."]


def _same_twice(base: Session, other: Session) -> list[str]:
    same = base.header == other.header and base.header.started_unix_ns and len(base.rounds) == len(other.rounds)
    return ["These two are the same recording."] if same else []


def _unended(named: Sequence[tuple[str, Named]]) -> list[str]:
    open_ends = [letter for letter, each in named if each.session.footer is None]
    if not open_ends:
        return []
    who = " and ".join(open_ends)
    return [
        f"{who} {'has' if len(open_ends) == 1 else 'have'} no end yet: interrupted, or compared while it was recorded."
    ]


def _one_sided(named: Sequence[tuple[str, Named]]) -> list[str]:
    """Which side of a start of quantised keys and values each is measured on, where it is not all."""
    switches = [(letter, switch_of(each.session)) for letter, each in named]
    return [f"{letter}: {switch.sentence}" for letter, switch in switches if switch is not None and switch.sentence]


def _settings(base: Session, other: Session) -> tuple[Setting | None, Setting | None]:
    """The last setting that both used, else the last of each."""
    used = settings_of(visits_of(base)), settings_of(visits_of(other))
    shared = [setting for setting in used[0] if setting in used[1]]
    if shared:
        return shared[-1], shared[-1]
    return tuple(each[-1] if each else None for each in used)  # type: ignore[return-value]


def _matched(base: Session, other: Session, settings: tuple[Setting | None, Setting | None]) -> Matched | None:
    try:
        return matched(base, other, *settings)
    except (ArithmeticError, ValueError):
        return None


def _prompts(units: Matched | None) -> tuple[Difference, ...]:
    """Prompts that differ: other text has another acceptance, so none in common forbids a comparison."""
    if units is None or units.scope == "windows":
        return ()
    counts = counted(units.base_prompts, "prompt"), counted(units.other_prompts, "prompt")
    if units.shared == 0:
        left, right = f"{counts[0]} of its own", f"{counts[1]} of its own"
        return (Difference(fact="prompts", base=left, other=right, standing="unlike"),)
    if units.shared == units.base_prompts == units.other_prompts:
        return ()
    return (Difference(fact="prompts", base=counts[0], other=counts[1], standing="told"),)


def _side(named: Named, setting: Setting | None) -> Side:
    ledger, why_not = None, ""
    try:
        ledger = ledger_of(named.session, setting)
    except SpecviewError as error:
        why_not = str(error)
    except (ArithmeticError, ValueError) as error:
        why_not = f"The numbers in this file do not fit together ({error})."
    doubts: tuple[str, ...] = ()
    if ledger is not None and ledger.segments:
        doubts = tuple(each.message for each in ledger.verdict.findings if each.code != "wide_interval")
    return Side(name=named.name, setting=setting, ledger=ledger, why_not=why_not, doubts=doubts)


def _width(setting: Setting | None) -> int | None:
    return None if setting is None or setting.k < 1 else setting.k + 1


def _timed(tables: Sequence[BlocksTable | None]) -> tuple[int | None, int | None]:
    """The width of the blocks where nothing was drafted, if it is one for both."""
    found = [None if table is None else table.width for table in tables]
    return (found[0], found[1]) if found[0] == found[1] else (None, None)


def _wider(base: Session, other: Session, widths: tuple[int | None, int | None]) -> tuple[float, float] | None:
    if widths[0] is None or widths[1] is None:
        return None
    return wider_and_dearer(base, other, (widths[0], widths[1]))


def _doubts(sides: tuple[Side, Side], letter: str) -> list[str]:
    return [f"{name}: {said}" for name, side in zip(("A", letter), sides, strict=True) for said in side.doubts]


def _slowed(canary: Sequence[Change], found: Sequence[Difference], letter: str) -> list[str]:
    """The fixed product tells of the machine only where both used the same MLX and BLAS on the same chip."""
    changed = {each.fact for each in found if each.standing != "told"}
    if not canary or changed & {"chip", "system", "device", "BLAS", "MLX"}:
        return []
    effect = canary[0].log_ratio
    if effect is None or effect.finding != "real" or abs(effect.estimate) <= math.log(CANARY_LIMIT):
        return []
    return [
        f"The machine itself was {_percent(effect.estimate)} during {letter}: a fixed matrix product took that much "
        f"{'longer' if effect.estimate > 0 else 'less'}. Record both again on a machine at rest."
    ]


def _cautions(
    units: Matched | None, found: Sequence[Difference], canary: Sequence[Change], letter: str
) -> tuple[str, ...]:
    said = []
    changes = [each.fact for each in found if each.standing == "change"]
    if len(changes) > 1:
        said.append(
            f"Several things changed at once ({', '.join(changes)}): no number here tells which of them did it."
        )
    if "rule" in changes or "sampling" in changes:
        said.append(
            "Acceptance under another rule or temperature is another quantity: do not read it as better drafts."
        )
    if units is not None and units.scope == "segments":
        said.append("Fewer than three prompts are compared, so the intervals are over segments: these prompts only.")
    if units is not None and units.paired and units.scope != "windows":
        left_out = max(units.base_prompts, units.other_prompts) - units.shared
        if left_out:
            said.append(
                f"Compared over the {counted(units.shared, 'prompt')} that both measured; up to {left_out:,} more "
                f"{'is' if left_out == 1 else 'are'} left out."
            )
    if units is not None and not units.paired:
        texts = "windows are not matched" if units.scope == "windows" else "texts differ"
        said.append(f"Their {texts}, so what is special about one of them does not cancel.")
    effect = canary[0].log_ratio if canary else None
    if not _slowed(canary, found, letter) and effect is not None and effect.finding == "real":
        same = not {"MLX", "BLAS", "chip", "device", "system"} & {each.fact for each in found}
        if same and abs(effect.estimate) > CANARY_TOLD:
            said.append(
                f"A fixed matrix product took {_percent(effect.estimate, 'longer', 'less')} in {letter}: part of any "
                "change may be the machine's."
            )
    return tuple(said)


def _percent(log_ratio: float, above: str = "slower", below: str = "faster") -> str:
    return f"{abs(math.expm1(log_ratio)):.0%} {above if log_ratio > 0 else below}"
