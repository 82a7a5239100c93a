"""SGLang's benchmarks: `bench_speculative` JSONL, one line a setting, and results of `bench_serving`."""

from __future__ import annotations

from collections.abc import Iterable

from ..records import Counters
from .findings import Findings
from .imported import Imported, Importer, ImportFailed, Tally
from .json_documents import documents
from .model_names import name_without_path
from .object_fields import Fields, count_loose
from .serving_benchmark import about_prompts, run_label, served_speed

FORM = "SGLang benchmark"
ENGINE = "sglang"


def likely(head: str) -> float:
    """Say how likely a text is a result of one of SGLang's benchmarks."""
    if '"acc_length"' in head and '"step_time"' in head:
        return 0.97
    served = '"output_throughput"' in head
    return 0.95 if served and ('"accept_length"' in head or '"backend": "sglang' in head) else 0.0


def read(lines: Iterable[str]) -> Imported:
    """Return one stretch a setting or run; settings with 0 steps and 0 draft tokens are plain decoding."""
    tally, findings = Tally(), Findings()
    counters: list[Counters] = []
    models: dict[str, None] = {}
    for found in documents(lines):
        if found.value is None:
            count_loose(found, tally)
            continue
        fields = Fields(found.value)
        if "acc_length" in fields.values or "step_time" in fields.values:
            made = _setting(fields, findings)
        elif "output_throughput" in fields.values:
            made = _served_run(fields, findings)
        else:
            tally.ignore()
            continue
        if made is None:
            tally.puzzle(", ".join(fields.wrong) or f"a setting without step_time and speed: {fields.values}"[:200])
            continue
        counters.append(made)
        model = fields.text("model_id") or fields.text("model")
        if model:
            models[name_without_path(model)] = None
        fields.settle(tally)
    if not counters:
        raise ImportFailed(
            "No run of SGLang's benchmarks is in this text; give it the JSONL that bench_speculative or bench_serving "
            "wrote with --output."
        )
    return Imported(
        engine=ENGINE,
        form=FORM,
        records=(*counters, *findings.notes()),
        tally=tally,
        model=next(iter(models)) if len(models) == 1 else None,
        k=next((one.k for one in counters if one.k), None),
    )


def _setting(fields: Fields, findings: Findings) -> Counters | None:
    batch, steps, topk = (fields.count(name) for name in ("batch_size", "steps", "topk"))
    positions, per_round = fields.count("num_draft_tokens"), fields.number("acc_length")
    step_s, speed = fields.number("step_time"), fields.number("speed")
    fields.number("completion_tokens")
    if not step_s and not speed and not per_round:
        return None
    drafts = bool(steps or positions)
    findings.note(
        "percentile",
        "step_time is a 20th percentile of the steps, not their mean, so speeds are those of quick steps.",
    )
    derived: list[str] = []
    if step_s and speed and per_round and abs(speed * step_s / per_round - 1) > 0.02:
        findings.contradict(
            f"A speed of {speed:.2f} tokens/s does not fit {per_round:.3f} tokens in a step of {1000 * step_s:.2f} ms "
            f"({per_round / step_s:.2f} tokens/s).",
            "speed",
        )
    if speed is None and step_s and per_round:
        speed = per_round / step_s
    together = None
    if speed is not None:
        # the benchmark's speed is of one sequence
        together = speed * (batch or 1)
        derived.append("tokens_per_second")
    k = None
    if drafts and positions:
        if (topk or 1) == 1 and (steps is None or positions == steps + 1):
            k = positions - 1
            derived.append("k")
        else:
            findings.note(
                "tree",
                f"Some drafts are trees (topk {topk}, {steps} steps, {positions - 1} drafts): k is not one number.",
                "tree",
            )
    if drafts and per_round and positions and per_round > positions:
        findings.contradict(f"{per_round:.2f} tokens a round are more than the {positions} positions.", "length")
    label = None
    if drafts:
        label = f"{steps} steps, topk {topk}, {positions} positions"
    return Counters(
        t_ns=0,
        arm="drafting" if drafts else "plain",
        source=ENGINE,
        label=label,
        k=k,
        batch=batch or None,
        tokens_per_second=together,
        tokens_per_round=per_round if drafts else None,
        derived=tuple(derived),
    )


def _served_run(fields: Fields, findings: Findings) -> Counters:
    per_round = fields.number("accept_length")
    about_prompts(fields, findings)
    counters = Counters(
        t_ns=0,
        arm="drafting" if per_round else "plain",
        source=ENGINE,
        label=run_label(fields),
        tokens_per_round=per_round or None,
    )
    return served_speed(fields, findings).on(counters)


IMPORTERS = (Importer(form=FORM, engine=ENGINE, likely=likely, read=read),)
