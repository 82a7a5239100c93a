"""The result of a serving benchmark, as vLLM and SGLang save it: speed and concurrency of one run."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..records import Counters
from .findings import Findings
from .object_fields import Fields


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedSpeed:
    """How fast a run generated: `batch` sequences at once, all of them together `tokens_per_second`."""

    batch: int | None
    tokens: int | None
    elapsed_ns: int | None
    tokens_per_second: float | None
    derived: tuple[str, ...]

    def on(self, counters: Counters) -> Counters:
        """Return the counters of the same run with its speed."""
        return replace(
            counters,
            batch=self.batch,
            tokens=self.tokens,
            elapsed_ns=self.elapsed_ns,
            tokens_per_second=self.tokens_per_second,
            derived=(*counters.derived, *self.derived),
        )


def served_speed(fields: Fields, findings: Findings) -> ServedSpeed:
    """Return the speed of a run without its prompts where the time per output token tells it, else with them.

    `mean_tpot_ms` is the time per token of a request after its first; `output_throughput` has prompts and pauses
    inside. Times are milliseconds, `duration` seconds, as in `vllm bench serve` and `sglang.bench_serving`.
    """
    batch = fields.count("max_concurrency") or None
    tokens, seconds = fields.count("total_output_tokens"), fields.number("duration")
    speed, per_token_ms = fields.number("output_throughput"), fields.number("mean_tpot_ms")
    prompts = fields.count("num_prompts")
    failed = fields.count("failed")
    if failed:
        findings.note("failed", f"{failed:,} requests of a run failed.")
    if prompts and batch and prompts < batch:
        findings.note("batch", f"Only {prompts} requests were sent at a concurrency of {batch}.")
        batch = prompts
    if tokens and seconds and speed and abs(tokens / seconds / speed - 1) > 0.02:
        findings.contradict(
            f"output_throughput is {speed:.2f} tokens/s, but {tokens:,} tokens in {seconds:.2f} s are "
            f"{tokens / seconds:.2f}."
        )
    if batch and per_token_ms:
        decoding = batch * 1000 / per_token_ms
        if speed and decoding < speed * 0.98:
            findings.contradict(
                f"mean_tpot_ms {per_token_ms:.2f} at {batch} at once is {decoding:.1f} tokens/s, less than the "
                f"{speed:.1f} of output_throughput."
            )
        elif speed:
            findings.note(
                "prompt_time",
                "Speeds are from the time per output token, all sequences together; output_throughput has prompt "
                f"processing and pauses inside ({speed:.1f} instead of {decoding:.1f} tokens/s).",
            )
        return ServedSpeed(
            batch=batch, tokens=None, elapsed_ns=None, tokens_per_second=decoding, derived=("tokens_per_second",)
        )
    if speed or (tokens and seconds):
        findings.note(
            "prompt_time",
            "Speeds are output_throughput: prompt processing and pauses are inside, which pulls every speedup towards "
            "1; run the benchmark with --max-concurrency to have the time per token tell them apart.",
        )
    if not speed and tokens and seconds:
        return ServedSpeed(
            batch=batch,
            tokens=tokens,
            elapsed_ns=round(seconds * 1e9) if seconds < 1e9 else None,
            tokens_per_second=tokens / seconds,
            derived=("tokens_per_second",),
        )
    elapsed_ns = round(seconds * 1e9) if seconds and seconds < 1e9 else None
    return ServedSpeed(batch=batch, tokens=tokens, elapsed_ns=elapsed_ns, tokens_per_second=speed, derived=())


def run_label(fields: Fields) -> str | None:
    """Return what tells runs of one benchmark apart: their label, date and request rate."""
    rate = fields.values.get("request_rate")
    parts = [fields.text("label"), fields.text("date")]
    if isinstance(rate, int | float) and not isinstance(rate, bool) and 0 < rate < 1e9:
        parts.append(f"{rate:g} requests/s")
    if fields.values.get("dataset_name") == "random":
        parts.append("random prompts")
    return ", ".join(part for part in parts if part) or None


def about_prompts(fields: Fields, findings: Findings) -> None:
    """Remark prompts that say little about real ones."""
    if fields.values.get("dataset_name") == "random":
        findings.note(
            "random_prompts",
            "The prompts were random tokens, on which drafting looks about a quarter too good; use real prompts.",
        )
