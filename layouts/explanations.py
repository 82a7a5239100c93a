"""What each panel means: in plain words, its formula, and its numbers now."""

from __future__ import annotations

from dataclasses import dataclass

from . import figures
from .view_models import DashboardView


@dataclass(frozen=True, slots=True)
class Explanation:
    """A panel explained; `numbers` are the ones on the screen, put into the formula."""

    title: str
    words: tuple[str, ...]
    formula: tuple[str, ...]
    numbers: tuple[str, ...]


def explanation(panel: str, view: DashboardView) -> Explanation:
    """The explanation of one panel by its name."""
    by_name = {
        "decode": _decode,
        "verify": _verify,
        "break-even": _break_even,
        "stream": _stream,
        "rounds": _rounds,
    }
    return by_name[panel](view)


def _decode(view: DashboardView) -> Explanation:
    decode = view.decode
    numbers = []
    if decode.whole_ms is not None:
        numbers.append(
            f"whole graph {figures.ms(decode.whole_ms)} = build {figures.ms(decode.build_ms)} "
            f"+ eval {figures.ms(decode.eval_ms)}"
        )
    if decode.pipelined_ms is not None:
        numbers.append(f"pipelined {figures.ms(decode.pipelined_ms)} a token: the baseline of the verdict")
    if decode.gap_ms is not None:
        numbers.append(
            f"gap {figures.bare_ms(decode.whole_ms)} − {figures.bare_ms(decode.sum_ms)} = {figures.ms(decode.gap_ms)}: "
            f"{figures.percent(decode.gap_of_sum)} of the sum, {figures.percent(decode.gap_of_wall)} of the wall"
        )
    if decode.gap_parts:
        numbers.append("gap = " + " + ".join(f"{part.name} {figures.bare_ms(part.ms)}" for part in decode.gap_parts))
    numbers += decode.sentences
    return Explanation(
        "Decode step · three rulers",
        (
            "The whole graph is one pass over one position, waited for. The blocks are the same pass cut into parts, "
            "each timed by itself; what the whole graph takes beyond them is in no block: the gap.",
            "Whoever sums blocks and divides by a whole-graph rate mixes two rulers, and a loss can look like a win.",
            "queued: the slope over several copies of a block in one graph, without fences, going round all layers; "
            "one layer: the same with copies that stay at one layer, whose weights the cache may keep. "
            "fenced: a wait before and after each block, which costs time itself.",
        ),
        ("gap = whole graph (synchronous) − Σ blocks (queued)",),
        tuple(numbers) or (decode.message or "Not measured yet.",),
    )


def _verify(view: DashboardView) -> Explanation:
    verify = view.verify
    numbers = [
        f"verify({b.label}) ÷ decode = {figures.ratio(b.ratio)}"
        + (f", {figures.ratio(b.ratio / int(b.label))} a position" if int(b.label) > 1 else "")
        for b in verify.widths
        if b.marked or b.label in ("2", "4", "8", "16")
    ]
    numbers += [f"{b.label}: {figures.ratio(b.ratio)}" for b in verify.categories]
    if verify.cliffs:
        numbers.append(f"cliffs at {', '.join(verify.cliffs)} positions")
    return Explanation(
        "Verify ÷ decode",
        (
            "A round verifies k drafts and one more position in a single pass. If the weights are read once for all "
            "positions that pass costs little more than a decode step: a ratio near 1. If they are read once for each "
            "position the ratio is near n, and a draft of n − 1 tokens cannot win.",
            "Both sides are synchronous passes on one ruler. Only widths that were measured are shown; nothing is "
            "interpolated, because the next width can lie behind a cliff.",
        ),
        ("ratio(n) = T_verify(n) ÷ T_verify(1)",),
        tuple(numbers) or ("Not measured yet.",),
    )


def _break_even(view: DashboardView) -> Explanation:
    line = view.break_even
    numbers = []
    if line.curve is not None and line.unmeasured:
        numbers = [
            line.note,
            f"{line.level or f'verify({line.curve.k + 1})'} costs {figures.ms(line.curve.verify_ms)}, "
            f"{figures.steps(line.verify_steps)}",
            "no p breaks even at this verify"
            if line.curve.crossing is None
            else f"it breaks even from p = {figures.share(line.curve.crossing)} on, with drafts that cost nothing",
        ]
    if line.curve is not None and line.limit_ms is not None:
        numbers = [
            f"{line.symbol} {figures.share(line.p)} [{figures.share(line.p_low)}, {figures.share(line.p_high)}], "
            f"conditional, k = {line.curve.k}",
            f"{line.level or f'verify({line.curve.k + 1})'} may cost {figures.ms(line.limit_ms)}; "
            f"it costs {figures.ms(line.curve.verify_ms)}",
            "no p breaks even at this verify"
            if line.curve.crossing is None
            else f"this verify breaks even from p = {figures.share(line.curve.crossing)} on",
        ]
    if line.what_if is not None:
        asked = line.what_if
        numbers.append(
            f"what if p {figures.share(asked.p)}, k {asked.k}: {figures.times(asked.speedup)}, "
            f"{line.level or f'verify({asked.k + 1})'} ≤ {figures.ms(asked.limit_ms)}"
        )
    return Explanation(
        "Break-even line",
        (
            "The dotted line is the dearest verify pass that still breaks even, at every acceptance p. The level line "
            "is the verify pass as measured, and ● is where this run stands, with the interval of p shaded. "
            "Below the dotted line drafting wins; above it loses.",
            "p (α for drafts of several tokens) is conditional: the chance that a draft is accepted given that all "
            "before it in the round were. "
            "← → ask what another p would change, ↑ ↓ another k (only where that verify width was measured), - + a "
            "cheaper or dearer verify, < > the draft, { } a batch that was measured. Answers are marked what if on "
            "every screen and change no measured number. Esc goes back.",
        ),
        (
            "E(p) = 1 + p + … + p^k      T_verify ≤ E · T_decode − T_draft − T_rest",
            "S = E · T_decode ÷ (T_verify + T_draft + T_rest)      wins ⇔ S > 1",
        ),
        tuple(numbers) or (line.message,),
    )


def _stream(view: DashboardView) -> Explanation:
    count = dict.fromkeys(("accepted", "own", "rejected", "plain"), 0)
    for piece in view.stream.pieces:
        if piece.kind in count:
            count[piece.kind] += len(piece.text)
    return Explanation(
        "Stream",
        (
            "accepted: drafted, and the model would have written the same.",
            "own (bold): the one token the model adds itself each round, also called the bonus.",
            "rejected (struck through): drafted, and thrown away.",
            "plain (grey): written without drafts, in the stretches that measure plain decoding. What was measured "
            "twice is shown once.",
            "Page up and page down scroll; at the end it follows the text.",
        ),
        ("tokens of a round = accepted + 1",),
        (" · ".join(f"{kind} {number} characters" for kind, number in count.items()),),
    )


def _rounds(view: DashboardView) -> Explanation:
    return Explanation(
        "Rounds",
        (
            "p here is accepted ÷ drafted over free rounds; at k = 1 it is the conditional p too. "
            "± is half a 95% interval of the mean. decode is pipelined, 1000 ÷ tok/s.",
            "verify, draft and rest come from split rounds, which are fenced between the phases; rounds, tok/s and the "
            "verdict come from free rounds, which are not. So the prediction from the parts is compared with rounds it "
            "was not made from.",
            "canary: a fixed matrix product, late ÷ early; above 1.1 the machine slowed and there is no verdict. "
            "looking: what this screen takes of all cores.",
        ),
        ("T_round = T_verify(k+1) + T_draft + T_rest      R = T_round ÷ T_decode      S = E ÷ R",),
        tuple(f"{row.label}: {row.value}{f' ({row.remark})' if row.remark else ''}" for row in view.rounds.rows)
        or (view.rounds.message or "Nothing is measured yet.",),
    )
