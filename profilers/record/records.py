"""The records of a session file, schema 1: one frozen dataclass per kind, and a line of JSON for each.

Times are integer nanoseconds; `t_ns` and `started_ns` count from the session's start. A field that is None is
left out of the line. Numbers are never negative, except where the annotation is `Signed`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypeAlias

from .codec import Mark, RecordError, Text, read_fields, write_fields
from .lines import LINE_BYTES

SCHEMA = 1

Signed: TypeAlias = Annotated[float, Mark.SIGNED]
Piece: TypeAlias = Annotated[str, Text(lines=True)]
PromptText: TypeAlias = Annotated[str, Text(limit=64 * 1024, lines=True)]
CountByKind: TypeAlias = Annotated[tuple[tuple[str, int], ...], Mark.OBJECT]


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """The machine and the libraries; no host name, user name or absolute path."""

    chip: str | None = None
    os: str | None = None
    python: str | None = None
    mlx: str | None = None
    mlx_lm: str | None = None
    device: str | None = None
    blas: str | None = None
    memory_bytes: int | None = None
    power: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFacts:
    """What a model is; `layers` pairs each kind of layer with its count and is a JSON object on disk.

    `random_weights`: a shape without weights, built from random ones, whose acceptance means nothing.
    `layers_in_full` are the layers of the architecture where fewer were built.
    """

    id: str
    architecture: str
    layers: CountByKind
    quantisation: str | None = None
    dtype: str
    weight_bytes: int
    parameters: int | None = None
    vocabulary: int
    tokenizer_hash: str
    random_weights: bool = False
    layers_in_full: CountByKind | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DrafterFacts:
    """What drafts: `kind` is mtp, lookup, model or none, and text so that newer drafters still open."""

    kind: str
    model: ModelFacts | None = None
    k: int | None = None
    detail: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """The first record of every session: versions, plan, machine, models, and whether texts are kept.

    `source` names the engine whose figures these are where specview did not measure itself; then texts are "unknown"
    and numbers 0 where that engine does not say.
    """

    schema: int = SCHEMA
    specview: str
    plan: str
    environment: Environment
    model: ModelFacts
    drafter: DrafterFacts | None = None
    started_unix_ns: int
    text_kept: bool
    prompts_kept: bool
    source: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptFacts:
    """Which prompt of which suite, by hash; `tokens` counts, `text` is there only when prompts are kept."""

    suite: str
    index: int
    kind: str
    hash: str
    tokens: int
    text: PromptText | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One stretch with one arm, drafter, k, prompt and sampling; rounds and steps name it by `run`.

    `rule` is the acceptance rule in words. `policy` is how verify passes are made where not in one pass, `kv_bits` how
    keys and values are quantised where they are, from position `kv_start` on where not from the first; `adaptive`: k
    is the longest draft, and each round chooses its own. `heads` is how many MTP heads draft where they are several.
    """

    run: int
    arm: Literal["plain", "drafting", "split", "k0"]
    drafter: str
    k: int
    rule: str
    temperature: float
    top_p: float
    seed: int | None = None
    prompt: PromptFacts
    started_ns: int
    top_k: int | None = None
    min_p: float | None = None
    policy: str | None = None
    kv_bits: int | None = None
    adaptive: bool = False
    kv_start: int | None = None
    heads: int | None = None


@dataclass(frozen=True, slots=True)
class Pieces:
    """The text of each token of a round: the committed ones, the bonus last, and the rejected drafts."""

    committed: tuple[Piece, ...]
    rejected: tuple[Piece, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """One round of drafting; `drafted`, `accepted` and `tokens` (committed) count tokens.

    The phase times are there in split rounds, and `rewind_ns` is part of `rest_ns`. `replay` is true when its
    tokens were shown before, by another arm.
    """

    run: int
    i: int
    segment: int
    t_ns: int
    context: int
    drafted: int
    accepted: int
    width: int
    tokens: int
    pieces: Pieces | None = None
    round_ns: int
    draft_ns: int | None = None
    catch_up_width: int | None = None
    verify_ns: int | None = None
    rest_ns: int | None = None
    rewind_ns: int | None = None
    warm_up: bool = False
    replay: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One step of plain generation, `step_ns` long; `replay` is true when its tokens were shown before."""

    run: int
    i: int
    segment: int
    t_ns: int
    context: int
    tokens: int
    pieces: tuple[Piece, ...] | None = None
    step_ns: int
    pipelined: bool
    warm_up: bool = False
    replay: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """One timing that does not advance the generation: samples, or a slope with its interval, by one ruler.

    `part` says what was timed (decode, verify, draft, a round after one that accepted nothing, or all), `width` is in
    positions; a slope may be negative by noise.
    A `block` stands for `layers` blocks of one place: samples are of all of them, a slope is of one. `arrangement`
    says whether the copies under a slope went round the layers (cycled) or stayed at one (hot); `cached` whether
    their weights fit the last-level cache. `detail` tells kinds of one category apart (gated delta, sliding window,
    router …). `submit_ns` is the time until `async_eval` gave back, a part of `eval_ns`. `batch` is how many sequences
    the pass served at once, each over `width` positions; None is one, as 1 is. `policy` is how a verify pass was made
    where not in one pass, `rule` the acceptance rule whose answer was read off it where not the likeliest tokens.
    """

    t_ns: int
    ruler: Literal["whole", "fenced", "queued"]
    part: str
    width: int
    context: int
    block: str | None = None
    category: str | None = None
    layer: int | None = None
    samples_ns: tuple[int, ...] | None = None
    slope_ns: Signed | None = None
    slope_low_ns: Signed | None = None
    slope_high_ns: Signed | None = None
    build_ns: tuple[int, ...] | None = None
    eval_ns: tuple[int, ...] | None = None
    cached: bool | None = None
    layers: int | None = None
    arrangement: str | None = None
    pipelined: bool | None = None
    run: int | None = None
    detail: str | None = None
    submit_ns: tuple[int, ...] | None = None
    batch: int | None = None
    policy: str | None = None
    rule: str | None = None

    @property
    def of_many(self) -> bool:
        """Whether it served several sequences at once, so that its times are not those of a pass."""
        return self.batch not in (None, 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Census:
    """How often the blocks of a place run one primitive at a width, what that moves and computes; all layers together.

    One record for each combination of primitive, `inputs` and `outputs` (`float32[1,2,256]`). `coverage` is the share
    of the pass's primitives that lie in some block. `method` says how the primitive was seen: exported with its
    shapes, or by name only, and then its bytes and flops are 0 and not known.
    """

    width: int
    block: str
    category: str
    primitive: str
    count: int
    bytes_read: int
    bytes_written: int
    flops: int
    coverage: float
    context: int | None = None
    detail: str | None = None
    layers: int | None = None
    inputs: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    method: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Demand:
    """What the blocks of a place must move and compute in one pass, all `layers` together, whatever the kernels do.

    `weight_bytes` are read once; of `expert_bytes` (all experts) a pass needs those that its routes name, out of
    `experts` with `active` for each position. `kv_bytes` are the keys and values that are read at this context,
    `state_bytes` a recurrent state, read and written. `flops` are those of one position, in `dtype`.
    """

    block: str
    category: str
    detail: str | None = None
    layers: int
    context: int
    dtype: str
    weight_bytes: int
    expert_bytes: int = 0
    experts: int | None = None
    active: int | None = None
    kv_bytes: int = 0
    state_bytes: int = 0
    flops: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Routes:
    """How many distinct experts a block of experts touched at `width` positions: one count a pass and layer."""

    t_ns: int
    block: str
    width: int
    experts: int
    active: int
    distinct: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """One heavy primitive replayed alone at `width` positions by the queued ruler: a slope a call with its interval.

    `weight` is what it multiplies by (`model.layers.*.mlp.up_proj`, or the cache), `shape` its shape as text, `count`
    how often a pass runs it, `bytes_read` what a call reads at least. `cached`: its weights fit the last-level cache.
    """

    t_ns: int
    primitive: str
    weight: str
    category: str
    detail: str | None = None
    shape: str
    dtype: str
    width: int
    count: int
    bytes_read: int
    slope_ns: Signed
    slope_low_ns: Signed
    slope_high_ns: Signed
    cached: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Experiment:
    """Passes under one setting of a switch, interleaved with those of a control: times, and the memory it took."""

    t_ns: int
    name: str
    arm: str
    control: bool
    width: int
    context: int
    samples_ns: tuple[int, ...]
    peak_bytes: int | None = None
    cache_bytes: int | None = None
    detail: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Batched:
    """One stretch of generating `batch` texts at once, greedily: counts and times are of all of them together.

    Stretches of one `pair` go on from the same texts. `passes` are decode steps of the plain arm, rounds of the others;
    a round accepts of every text its own prefix, and `tested` counts drafts whose predecessors were all accepted. The
    split arm fences the phases and has their totals. `context` is of the longest text at the start.
    """

    t_ns: int
    pair: int
    arm: Literal["plain", "drafting", "split"]
    batch: int
    drafter: str
    k: int
    context: int
    passes: int
    tokens: int
    elapsed_ns: int
    drafted: int = 0
    accepted: int = 0
    tested: int = 0
    draft_ns: int | None = None
    verify_ns: int | None = None
    rest_ns: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Counters:
    """What another engine counted and timed over one stretch (a request, a window, a benchmark run), up to `t_ns`.

    None is what it does not say; `derived` names fields that were computed from others. `tokens` are generated ones
    in `elapsed_ns`, prompt processing left out where the source tells it apart; `accepted_by_position[i]` counts the
    rounds that kept at least i + 1 drafts. `tokens_per_round` counts the bonus token. `draft_ns`, `verify_ns`,
    `rest_ns` are totals of the stretch; `batch` is how many sequences ran at once.
    """

    t_ns: int
    arm: Literal["plain", "drafting"]
    source: str
    label: str | None = None
    drafter: str | None = None
    k: int | None = None
    batch: int | None = None
    rounds: int | None = None
    drafted: int | None = None
    accepted: int | None = None
    accepted_by_position: tuple[int, ...] | None = None
    tokens: int | None = None
    elapsed_ns: int | None = None
    draft_ns: int | None = None
    verify_ns: int | None = None
    rest_ns: int | None = None
    tokens_per_second: float | None = None
    tokens_per_round: float | None = None
    temperature: float | None = None
    rule: str | None = None
    derived: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Where imported figures come from: the form of the source, its lines, and how many of them were not understood."""

    t_ns: int
    form: str
    name: str
    lines: int
    understood: int
    ignored: int
    not_understood: int
    examples: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """One constant of the machine (bandwidth, peak, fence, canary) in `unit`, with its interval."""

    what: str
    dtype: str | None = None
    value: Signed
    unit: str
    low: Signed | None = None
    high: Signed | None = None
    t_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """Memory at one moment, in bytes, the target's and the drafter's share where known, and what others do meanwhile.

    `others_cpu_fraction` is the part of all cores that other processes used since the record before (0 to 1).
    """

    t_ns: int
    active_bytes: int
    peak_bytes: int
    cache_bytes: int
    target_bytes: int | None = None
    drafter_bytes: int | None = None
    others_cpu_fraction: float | None = None
    swap_used_bytes: int | None = None
    available_bytes: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Guard:
    """A reason to distrust the numbers, and the remedy."""

    t_ns: int
    code: str
    message: str
    value: Signed | None = None
    remedy: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """What a person wrote down."""

    t_ns: int
    text: str
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Greedy output with drafts against without: the first difference, its logit margin, the judgement."""

    t_ns: int
    run: int
    prompt_index: int
    tokens_compared: int
    first_difference: int | None = None
    margin: Signed | None = None
    judged: Literal["equal", "tie", "bug"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Footer:
    """The last record: how the session ended and how much it holds; without one it was interrupted."""

    status: Literal["finished", "stopped", "failed"]
    reason: str | None = None
    rounds: int
    steps: int
    tokens: int
    t_ns: int


Record: TypeAlias = (
    Header
    | Run
    | Round
    | Step
    | Probe
    | Census
    | Demand
    | Routes
    | Replay
    | Experiment
    | Batched
    | Counters
    | Origin
    | Calibration
    | Memory
    | Guard
    | Note
    | Comparison
    | Footer
)

CLASS_BY_KIND: dict[str, type[Record]] = {
    "header": Header,
    "run": Run,
    "round": Round,
    "step": Step,
    "probe": Probe,
    "census": Census,
    "demand": Demand,
    "routes": Routes,
    "replay": Replay,
    "experiment": Experiment,
    "batched": Batched,
    "counters": Counters,
    "origin": Origin,
    "calibration": Calibration,
    "memory": Memory,
    "guard": Guard,
    "note": Note,
    "output": Comparison,
    "footer": Footer,
}
KIND_BY_CLASS: dict[type[Record], str] = {cls: kind for kind, cls in CLASS_BY_KIND.items()}


def to_line(record: Record) -> bytes:
    """Return the record as one line of UTF-8 JSON, "kind" first and newline last, its texts made safe.

    A value that no reader would take back (NaN, a negative count, a list for a tuple) is a RecordError.
    """
    kind = KIND_BY_CLASS[type(record)]
    written = {"kind": kind, **write_fields(kind, record)}
    text = json.dumps(written, ensure_ascii=False, allow_nan=False, separators=(",", ":"), check_circular=False)
    line = text.encode("utf-8") + b"\n"
    if len(line) > LINE_BYTES:
        raise RecordError(
            f"A record of kind {kind} is {len(line):,} bytes long; no reader takes more than {LINE_BYTES:,}."
        )
    return line


def from_object(raw: dict[str, Any]) -> Record | None:
    """Return the record of a parsed line, unknown fields ignored, or None for a kind unknown to this version.

    A field that is missing, of the wrong type or out of range is a RecordError naming the kind and the field.
    """
    kind = raw.get("kind")
    if not isinstance(kind, str):
        raise RecordError("A record must name its kind in a text field.")
    cls = CLASS_BY_KIND.get(kind)
    return None if cls is None else read_fields(cls, kind, raw)
