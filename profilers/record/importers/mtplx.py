"""MTPLX: the receipts of its requests, with acceptance by depth and the time of each phase."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Literal

from ..codec import LARGEST
from ..records import Counters
from .imported import Imported, Importer
from .object_fields import Fields
from .object_source import ObjectSource, brief, objects_in

ENGINE = "MTPLX"
FORM = "MTPLX receipts"

_KNOWN = frozenset(
    {
        "accepted_by_depth",
        "drafted_by_depth",
        "accepted_drafts",
        "drafted_tokens",
        "rejected_drafts",
        "skipped_drafts",
        "evaluated_drafts",
        "evaluated_by_depth",
        "accept_probability_sum_by_depth",
        "mean_accept_probability_by_depth",
        "fully_accepted_verify_calls",
        "verify_calls",
        "draft_time_s",
        "verify_time_s",
        "accept_time_s",
        "decode_elapsed_s",
        "decode_tok_s",
        "completion_tokens",
        "generated_tokens",
        "verify_forward_time_s",
        "verify_eval_time_s",
        "verify_logits_eval_time_s",
        "verify_hidden_eval_time_s",
        "verify_joint_eval_time_s",
        "verify_target_distribution_time_s",
        "verify_eval_unattributed_time_s",
        "compiled_verify_calls",
        "eager_verify_calls",
        "lazy_bonus_verify_calls",
        "speculative_depth",
        "requested_speculative_depth",
        "mtp_depth",
        "snapshot_time_s",
        "rollback_time_s",
        "repair_time_s",
        "commit_time_s",
        "capture_commit_time_s",
        "lazy_bonus_commit_time_s",
        "bonus_tokens",
        "correction_tokens",
        "draft_output_nbytes",
        "verify_output_nbytes",
    }
)
_TELLING = re.compile(r"accept|draft|verify|by_depth|speculative")
_SPEEDS = ("decode_tok_s", "decode_elapsed_s")
_REST = ("accept_time_s", "snapshot_time_s", "rollback_time_s", "repair_time_s", "commit_time_s")


def likely(head: str) -> float:
    """Whether the head of a text holds receipts."""
    names = ('"accepted_by_depth"', '"drafted_by_depth"', '"verify_calls"', '"verify_time_s"', '"decode_elapsed_s"')
    found = sum(name in head for name in names)
    return (0.0, 0.2, 0.7, 0.9, 0.95, 0.95)[found]


def read(lines: Iterable[str]) -> Imported:
    """Read each receipt as one stretch, wherever in a document it stands; a repeated one counts once."""
    source = ObjectSource(ENGINE, FORM)
    for value in source.documents(lines):
        objects = list(objects_in(value))
        for _, item in objects:
            for name in ("model", "model_id"):
                source.name_model(Fields(item).text(name))
        receipts = [item for _, item in objects if "accepted_by_depth" in item or "verify_calls" in item]
        if not receipts:
            receipts = [item for _, item in objects if any(name in item for name in _SPEEDS)]
        seen: list[tuple[Any, ...]] = []
        for item in receipts:
            mark = tuple(item.get(name) for name in ("accepted_by_depth", "verify_calls", *_SPEEDS))
            if mark in seen:
                continue
            seen.append(mark)
            _read_receipt(source, item, [value, *(other for _, other in objects)])
        if not receipts:
            source.tally.ignore()
    return source.imported("give it the receipts or the JSON that MTPLX writes for its requests.")


def _read_receipt(source: ObjectSource, item: dict[str, Any], around: list[dict[str, Any]]) -> None:
    fields = Fields(item)
    by_depth, drafted_by_depth = fields.counts("accepted_by_depth"), fields.counts("drafted_by_depth")
    rounds = fields.count("verify_calls")
    accepted, drafted = fields.count("accepted_drafts"), fields.count("drafted_tokens")
    tokens = fields.count("completion_tokens" if "completion_tokens" in item else "generated_tokens")
    elapsed_s, speed = fields.number("decode_elapsed_s"), fields.number("decode_tok_s")
    depth = _first(fields.count(name) for name in ("speculative_depth", "mtp_depth"))
    derived: list[str] = []
    arm = _arm(item, around, by_depth, rounds)
    if accepted is None and by_depth is not None:
        accepted = min(sum(by_depth), LARGEST)
        derived.append("accepted")
    if drafted is None and drafted_by_depth is not None:
        drafted = min(sum(drafted_by_depth), LARGEST)
        derived.append("drafted")
    elif drafted is not None and drafted_by_depth is not None and sum(drafted_by_depth) != drafted:
        source.findings.contradict(
            f"The drafts by depth add up to {sum(drafted_by_depth):,}, not to the {drafted:,} drafted tokens."
        )
    if by_depth is not None and drafted_by_depth is not None:
        _compare_depths(source, by_depth, drafted_by_depth)
    elapsed_ns = _ns(elapsed_s)
    if speed is None and tokens and elapsed_ns:
        speed = tokens * 1e9 / elapsed_ns
        derived.append("tokens_per_second")
    elif elapsed_ns is None and tokens and speed:
        elapsed_ns = min(round(tokens * 1e9 / speed), LARGEST)
        derived.append("elapsed_ns")
    rest = [part for part in (fields.number(name) for name in _REST) if part is not None]
    draft_ns, verify_ns = _ns(fields.number("draft_time_s")), _ns(fields.number("verify_time_s"))
    if not speed and (accepted is None or not rounds):
        source.puzzle_fields(fields, _KNOWN, _TELLING)
        source.tally.puzzle(brief(item))
        return
    if arm == "plain":
        counters = Counters(
            t_ns=0,
            arm="plain",
            source=ENGINE,
            tokens=tokens,
            elapsed_ns=elapsed_ns,
            tokens_per_second=speed or None,
            derived=tuple(name for name in derived if name not in ("accepted", "drafted")),
        )
    else:
        if len(rest) > 1:
            derived.append("rest_ns")
        mean = 1 + accepted / rounds if rounds and accepted is not None else None
        k = depth if depth is not None else len(drafted_by_depth) if drafted_by_depth else None
        counters = Counters(
            t_ns=0,
            arm="drafting",
            source=ENGINE,
            drafter="mtp",
            k=k,
            rounds=rounds,
            drafted=drafted,
            accepted=accepted,
            accepted_by_position=by_depth or None,
            tokens=tokens,
            elapsed_ns=elapsed_ns,
            draft_ns=draft_ns,
            verify_ns=verify_ns,
            rest_ns=_ns(sum(rest)) if rest else None,
            tokens_per_second=speed or None,
            tokens_per_round=mean,
            derived=(*derived, *(("tokens_per_round",) if mean is not None else ())),
        )
    source.keep(counters)
    source.puzzle_fields(fields, _KNOWN, _TELLING)


def _compare_depths(source: ObjectSource, accepted: tuple[int, ...], drafted: tuple[int, ...]) -> None:
    for depth, (kept, made) in enumerate(zip(accepted, drafted, strict=False)):
        if kept > made:
            source.findings.contradict(f"At depth {depth + 1} there were {kept:,} drafts accepted of only {made:,}.")
    if len(accepted) > len(drafted) and any(accepted[len(drafted) :]):
        source.findings.contradict("Drafts were accepted at depths where none was drafted.")


def _arm(
    item: dict[str, Any], around: list[dict[str, Any]], by_depth: tuple[int, ...] | None, rounds: int | None
) -> Literal["plain", "drafting"]:
    """Plain where the receipt says so or knows of no draft; a depth of 0 in the drafting loop is not plain."""
    for place in (item, *around):
        mode = place.get("generation_mode")
        if isinstance(mode, str):
            return "plain" if mode.lower() in ("ar", "autoregressive", "plain", "off") else "drafting"
    if item.get("runtime_mtp_enabled") is False:
        return "plain"
    return "plain" if not by_depth and not rounds else "drafting"


def _first(values: Iterable[int | None]) -> int | None:
    return next((value for value in values if value is not None), None)


def _ns(seconds: float | None) -> int | None:
    return round(seconds * 1e9) if seconds is not None and 0 < seconds * 1e9 <= LARGEST else None


IMPORTERS: tuple[Importer, ...] = (Importer(form=FORM, engine=ENGINE, likely=likely, read=read),)
