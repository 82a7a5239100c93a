"""llama-bench and llama-batched-bench: a verify curve, and plain decoding alone or of several sequences at once."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from ..records import Counters, Probe
from .findings import Findings
from .imported import Imported, Importer, ImportFailed, Tally
from .json_documents import documents
from .written_numbers import LARGEST_COUNT, LINE_CHARACTERS, nanoseconds, number, plain_line, whole

ENGINE = "llama.cpp"
BENCH = "llama-bench"
BATCHED = "llama-batched-bench"
WIDEST = 256  # positions: longer prompts are prompt processing, no verify pass
MOST_SAMPLES = 10_000
AGREEMENT = 0.02

# what makes rows unlike: one curve must not be made of two of these
SETTINGS = (
    "model_filename", "model_type", "backends", "gpu_info", "devices", "n_threads", "n_batch", "n_ubatch",
    "type_k", "type_v", "n_gpu_layers", "n_cpu_moe", "split_mode", "main_gpu", "no_kv_offload", "flash_attn",
    "tensor_split", "use_mmap", "cpu_mask", "poll", "no_op_offload", "build_commit",
)  # fmt: skip
_COLUMNS = ("pp", "tg", "pl", "n_kv", "t_pp", "speed_pp", "t_tg", "speed_tg", "t", "speed")
_ROW = re.compile(r"^[^|]*\|((?:\s*[\d.,]+\s*\|){10})\s*$")


class _Bench:
    """Rows of llama-bench; the settings of the first row are those of the session."""

    def __init__(self) -> None:
        self.tally = Tally()
        self.records: list[Counters | Probe] = []
        self.findings = Findings()
        self.first: dict[str, Any] | None = None
        self._unlike = self._mixed = 0
        self._t_ns = 0

    def take(self, row: dict[str, Any]) -> None:
        """Read one row: prompt tokens alone are a pass that wide, generated ones alone are plain decoding."""
        prompt, generated, depth = (_count(row.get(name)) for name in ("n_prompt", "n_gen", "n_depth"))
        samples = _samples(row)
        if "n_prompt" not in row and "n_gen" not in row:
            self.tally.ignore()
        elif prompt is None or generated is None or samples is None or ("n_depth" in row and depth is None):
            self.tally.puzzle(f"n_prompt {row.get('n_prompt')}, n_gen {row.get('n_gen')}, avg_ns {row.get('avg_ns')}")
        elif prompt and generated:
            self._mixed += 1
            self.tally.ignore()
        elif (not prompt and not generated) or prompt > min(WIDEST, _count(row.get("n_ubatch")) or WIDEST):
            self.tally.ignore()
        elif self.first is not None and _settings(row) != _settings(self.first):
            self._unlike += 1
            self.tally.ignore()
        else:
            self.first = self.first or row
            self.tally.understand()
            self._check(row, samples)
            if prompt:
                self._pass(prompt, depth or 0, samples)
            else:
                self._decoding(generated, depth or 0, samples)

    def _pass(self, width: int, context: int, samples: tuple[int, ...]) -> None:
        self._t_ns += sum(samples)
        self.records.append(
            Probe(t_ns=self._t_ns, ruler="whole", part="verify", width=width, context=context, samples_ns=samples)
        )

    def _decoding(self, tokens: int, context: int, samples: tuple[int, ...]) -> None:
        """Each repetition is a stretch of its own, so that their spread stays known."""
        for i, sample_ns in enumerate(samples):
            self._t_ns += sample_ns
            at = f" at {context}" if context else ""
            self.records.append(
                Counters(
                    t_ns=self._t_ns,
                    arm="plain",
                    source=BENCH,
                    label=f"tg{tokens}{at}, repetition {i + 1}",
                    batch=1,
                    tokens=tokens,
                    elapsed_ns=sample_ns,
                )
            )

    def _check(self, row: dict[str, Any], samples: tuple[int, ...]) -> None:
        mean, told = sum(samples) / len(samples), _measured(row.get("avg_ns"))
        if told is not None and abs(mean - told) > AGREEMENT * mean:
            text = (
                f"n_prompt {row['n_prompt']}, n_gen {row['n_gen']}: avg_ns {told:g}, but its samples mean {mean:.0f}."
            )
            self.findings.contradict(text)

    def finish(self) -> Imported:
        """Everything that was read; ImportFailed without a row of use."""
        if self.first is None:
            raise ImportFailed(
                "It has no row that is a pass or plain decoding; run llama-bench -o json with -p 1-16 -n 0 "
                "and with -p 0 -n 128."
            )
        if self._unlike:
            text = (
                f"{self._unlike} rows of other settings (model, device, threads, batch or cache type) are left out; "
                "import them on their own."
            )
            self.findings.note("unlike_rows", text)
        if self._mixed:
            text = f"{self._mixed} rows with prompt and generation in one time are left out."
            self.findings.note("prompt_time", text)
        return Imported(
            engine=ENGINE,
            form=BENCH,
            records=(*self.records, *self.findings.notes(self._t_ns)),
            tally=self.tally,
            model=_text(self.first, "model_type") or _text(self.first, "model_filename"),
            device=_text(self.first, "gpu_info") or _text(self.first, "cpu_info") or _text(self.first, "backends"),
        )


class _Batched:
    """Rows of llama-batched-bench, from its table or its JSON."""

    def __init__(self) -> None:
        self.tally = Tally()
        self.records: list[Counters] = []
        self.findings = Findings()
        self._t_ns = 0

    def take(self, row: dict[str, Any], shown: str) -> None:
        """Read one row: `pl` sequences generate `tg` tokens each in `t_tg` seconds."""
        tokens, batch = _count(row.get("tg")), _count(row.get("pl"))
        seconds, speed = _measured(row.get("t_tg")), _measured(row.get("speed_tg"))
        elapsed_ns = nanoseconds(seconds, 1e9)
        if tokens == 0:
            self.tally.ignore()
            return
        if tokens is None or not batch or elapsed_ns is None:
            self.tally.puzzle(shown)
            return
        self.tally.understand()
        self._t_ns += elapsed_ns
        label = f"{batch} × tg{tokens} after pp{_count(row.get('pp')) or 0}"
        counted = tokens * batch / (elapsed_ns / 1e9)
        if speed is not None and abs(speed - counted) > AGREEMENT * counted:
            text = f"{label}: says {speed:g} tokens per second, its counts say {counted:.2f}."
            self.findings.contradict(text)
        self.records.append(
            Counters(
                t_ns=self._t_ns,
                arm="plain",
                source=BATCHED,
                label=label,
                batch=batch,
                tokens=tokens * batch,
                elapsed_ns=elapsed_ns,
                tokens_per_second=speed,
            )
        )

    def finish(self) -> Imported:
        """Everything that was read; ImportFailed without a row."""
        if not self.records:
            raise ImportFailed("It has no row with generated tokens; run llama-batched-bench with -ntg above 0.")
        return Imported(
            engine=ENGINE, form=BATCHED, records=(*self.records, *self.findings.notes(self._t_ns)), tally=self.tally
        )


def _count(value: Any) -> int | None:
    return int(value) if type(value) in (int, float) and 0 <= value <= LARGEST_COUNT and value == int(value) else None


def _measured(value: Any) -> float | None:
    return float(value) if type(value) in (int, float) and 0 < value < 1e15 else None


def _samples(row: dict[str, Any]) -> tuple[int, ...] | None:
    """The times of its repetitions in ns, or their mean where only that is told."""
    raw = row.get("samples_ns")
    if isinstance(raw, list) and 0 < len(raw) <= MOST_SAMPLES:
        found = tuple(nanoseconds(_measured(value), 1.0) for value in raw)
        samples = tuple(value for value in found if value is not None)
        return samples if len(samples) == len(found) else None
    mean = nanoseconds(_measured(row.get("avg_ns")), 1.0) if raw is None else None
    return None if mean is None else (mean,)


def _settings(row: dict[str, Any]) -> tuple[str, ...]:
    return tuple(str(row.get(name))[:200] for name in SETTINGS)


def _text(row: dict[str, Any], name: str) -> str | None:
    value = row.get(name)
    return re.split(r"[/\\]", value)[-1] if isinstance(value, str) and value.strip() else None


def likely_bench(head: str) -> float:
    """From the names of its fields in JSON."""
    return 0.95 if head.lstrip("\ufeff \r\n\t")[:1] in ("{", "[") and _has(head, "n_prompt", "n_gen", "avg_ns") else 0.0


def likely_batched(head: str) -> float:
    """From the names of its fields, or the heads of its table."""
    if _has(head, "pp", "tg", "pl", "speed_tg"):
        return 0.95
    return 0.95 if re.search(r"\|\s*PP\s*\|\s*TG\s*\|\s*B\s*\|\s*N_KV\s*\|", head) else 0.0


def _has(head: str, *names: str) -> bool:
    return all(f'"{name}"' in head for name in names)


def read_bench(lines: Iterable[str]) -> Imported:
    """Read llama-bench's JSON: widths 1 to 256 as passes, generation as plain decoding; ImportFailed if none."""
    bench = _Bench()
    for found in documents(lines):
        if found.value is not None:
            bench.take(found.value)
        elif found.broken:
            bench.tally.puzzle(found.text)
        else:
            bench.tally.ignore()
    return bench.finish()


def read_batched(lines: Iterable[str]) -> Imported:
    """Read llama-batched-bench's table or its JSON, line by line; ImportFailed without a row."""
    batched = _Batched()
    for raw in lines:
        line = plain_line(raw)
        row = _ROW.match(line)
        if len(line) > LINE_CHARACTERS:
            batched.tally.puzzle(line)
        elif row is not None:
            cells = [cell.strip() for cell in row[1].split("|")[: len(_COLUMNS)]]
            counts: list[float | None] = [*map(whole, cells[:4]), *map(number, cells[4:])]
            batched.take(dict(zip(_COLUMNS, counts, strict=True)), line)
        elif line.lstrip()[:1] == "{":
            for found in documents([line]):
                if found.value is not None:
                    batched.take(found.value, line)
                else:
                    batched.tally.puzzle(line)
        elif re.match(r"\s*\|\s*[\d.,-]+\s*\|", line) and not re.match(r"[\s|:-]+$", line):
            batched.tally.puzzle(line)
        else:
            batched.tally.ignore()
    return batched.finish()


IMPORTERS: tuple[Importer, ...] = (
    Importer(form=BENCH, engine=ENGINE, likely=likely_bench, read=read_bench),
    Importer(form=BATCHED, engine=ENGINE, likely=likely_batched, read=read_batched),
)
