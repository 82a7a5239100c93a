"""The words of these screens, each in a sentence or two with its formula and where it comes from."""

from __future__ import annotations

from dataclasses import dataclass

LEVIATHAN = "Leviathan et al. 2023, Fast Inference from Transformers via Speculative Decoding"
CHEN = "Chen et al. 2023, Accelerating Large Language Model Decoding with Speculative Sampling"
OWN = "specview"
ARTICLE_A = "Ariaki, I wired speculative decoding into an inference engine I wrote myself"
ARTICLE_B = "Speculative Decoding Acceptance Rate: My LLM Got 47% Slower"


@dataclass(frozen=True, slots=True)
class Term:
    """One word: what it means, its formula if it has one, its source, and other spellings that find it.

    `about` names the panels and pages it belongs to.
    """

    name: str
    words: str
    formula: str = ""
    source: str = OWN
    also: tuple[str, ...] = ()
    about: tuple[str, ...] = ()


TERMS = (
    # ---- a round
    Term("speculative decoding", "A cheap drafter proposes tokens, and the model checks all of them in one pass. What "
         "it would have written itself is kept, so the text stays the same and only the speed changes.",
         "S = E · T_decode ÷ T_round", LEVIATHAN, ("drafting",), ("headline", "stream")),
    Term("round", "Draft k tokens, verify k + 1 positions in one pass of the model, keep the accepted beginning, "
         "rewind the rest.", "T_round = T_draft + T_verify(k+1) + T_rest", LEVIATHAN, (), ("stream", "rounds")),
    Term("drafted", "Tokens that a drafter proposed, kept or not. A round drafts at most k.",
         source=LEVIATHAN, also=("draft", "proposal"), about=("stream", "rounds")),
    Term("accepted", "The drafted tokens from the first on that the model would have written too; the first rejected "
         "one ends them.", "tokens of a round = accepted + 1", LEVIATHAN, ("accepted prefix",), ("stream", "rounds")),
    Term("rejected", "A drafted token that the model would not have written. It and all after it are thrown away, and "
         "the cache is rewound.", source=LEVIATHAN, also=("strike",), about=("stream",)),
    Term("bonus", "The one token that the model adds itself in every round, whatever was accepted. The stream calls it "
         "own.", source=LEVIATHAN, also=("own", "own token"), about=("stream",)),
    Term("k, draft length", "The longest draft of a round. Longer drafts yield more where they are accepted, and make "
         "every verify pass dearer.", also=("gamma", "γ", "num draft tokens"), source=LEVIATHAN,
         about=("break-even", "sweep", "rounds")),
    Term("drafter", "What proposes tokens: an MTP head, a smaller model, text seen before, or the model's own first "
         "layers.", source=LEVIATHAN, also=("draft model", "speculator"), about=("rounds",)),
    Term("target", "The model whose text is wanted and which verifies the drafts.", source=LEVIATHAN),
    Term("adaptive", "Each round chooses its own draft length from what was accepted lately and what a pass costs, "
         "and may draft nothing."),
    # ---- what a round yields
    Term("E, tokens per round", "How many tokens a round yields on average: the accepted ones and the one that the "
         "model adds.", "E = accepted + 1, mean over rounds", LEVIATHAN, ("yield", "tau", "mean accepted length"),
         ("headline", "rounds", "ledger")),
    Term("p, acceptance", "The chance that a drafted token is accepted. There are several kinds, which differ for the "
         "same drafts; compare only numbers of one kind and one k.", "E = 1 + p at k = 1", LEVIATHAN,
         ("acceptance rate",), ("break-even", "rounds", "ledger")),
    Term("α, conditional acceptance", "The chance that a draft is accepted given that all before it in the round were. "
         "It does not fall with k by itself, so it can be carried to another k.", "E = 1 + α + α² + … + α^k",
         LEVIATHAN, ("alpha", "conditional"), ("break-even", "rounds", "ledger")),
    Term("acceptance by position", "The conditional acceptance of the first, the second … draft of a round. Later ones "
         "are often worse.", "E = 1 + Σ_i Π_{j≤i} a_j", OWN, ("a_j",),
         ("rounds", "ledger")),
    Term("cumulative acceptance", "How often at least i drafts of a round are accepted; vLLM and llama.cpp print it by "
         "position.", "E = 1 + Σ r_i", "vLLM's metrics", ("r_i", "cumulative"), ("rounds", "ledger")),
    Term("per draft", "Accepted ÷ drafted. It falls as k grows with no guess getting worse: 0.38 at k = 7 can mean a "
         "higher α than 0.51 at k = 1.", "accepted ÷ drafted", ARTICLE_A, ("acceptance rate", "draft acceptance"),
         ("rounds", "ledger")),
    Term("accepted per round", "Mean number of accepted drafts in a round, without the model's own token.",
         "E − 1", "llama.cpp, SGLang", ("mean accepted",), ("rounds",)),
    # ---- acceptance rules
    Term("greedy match", "A draft is kept if it is the model's likeliest token. The text is that of plain greedy "
         "decoding.", source=LEVIATHAN, also=("greedy", "acceptance rule"), about=("rounds", "setup")),
    Term("exact match", "At a temperature: draw the model's own token, and keep the draft if it is the same. Simple, "
         "and keeps less than rejection sampling.", "α = Σ p · q", "mlx-lm", ("exact", "acceptance rule"),
         ("rounds", "setup")),
    Term("rejection sampling", "At a temperature: keep a draft with chance min(1, p ÷ q), else draw from what is left. "
         "The text has the model's own distribution, and as much is kept as can be.", "α = Σ min(p, q)",
         f"{LEVIATHAN}; {CHEN}", ("rejection", "speculative sampling", "acceptance rule"), ("rounds", "setup")),
    Term("temperature", "How freely tokens are drawn: 0 takes the likeliest. Higher ones usually lower acceptance.",
         "p_i ∝ exp(logit_i ÷ T)", about=("setup",)),
    Term("top-p, top-k, min-p", "Which tokens may be drawn: the likeliest that hold p of the chance, the k likeliest, "
         "or those with at least min-p of the likeliest one's chance.", also=("nucleus", "sampling"), about=("setup",)),
    # ---- drafters
    Term("MTP", "Multi-token prediction: a small head that the model was trained with and that guesses one token "
         "further. Cheap, and it reads the model's own hidden state.", "t_draft(m), m = accepted + 1",
         "Gloeckle et al. 2024, Better & Faster Large Language Models via Multi-token Prediction; DeepSeek-V3, 2024",
         ("multi-token prediction", "mtp head"), ("setup",)),
    Term("prompt lookup", "Drafts by copying what followed the same words earlier in the text. Costs nothing to draft; "
         "good where text repeats.", source="Saxena 2023, Prompt Lookup Decoding", also=("lookup", "ngram", "n-gram"),
         about=("setup",)),
    Term("layer skip", "Drafts with the model's own first layers and its output head; skip:8 takes eight of them.",
         source="LayerSkip, Elhoushi et al. 2024", also=("skip", "self-speculative", "early exit"), about=("setup",)),
    Term("quantised copy", "Drafts with a copy of the model in fewer bits: quantised:4.", also=("quantised",),
         about=("setup",)),
    Term("fixed, synthetic drafts", "Drafts that are right with a chance that was chosen. They show what that "
         "acceptance would cost; the acceptance itself is not measured.", also=("synthetic",), about=("setup",)),
    # ---- costs
    Term("T_decode, pipelined", "Time per token of plain generation, with the next step submitted before the last is "
         "read. The baseline of every verdict.", "1000 ms ÷ tokens per second", ARTICLE_A,
         ("decode", "baseline", "async"), ("decode", "headline", "rounds", "ledger")),
    Term("T_decode, synchronous", "One whole pass over one position, waited for. The baseline of ratios by category "
         "and of the gap, because verify passes are waited for too.",
         "T_verify(1)", ARTICLE_A, ("sync",), ("decode", "verify", "ledger")),
    Term("T_verify(n)", "One synchronous pass of the model over n positions on a warm cache. n = k + 1 in a round.",
         source=OWN, also=("verify", "verify pass"), about=("verify", "break-even", "sweep", "ledger")),
    Term("t_draft(m)", "One step of the drafter, m positions wide.", about=("rounds", "ledger")),
    Term("T_draft", "All drafting of a round: k steps of the drafter and its catch-up.",
         "T_draft = k · t_draft(1) + catch-up", about=("rounds", "ledger")),
    Term("catch-up", "What a drafter has to read before it can draft again: a draft model its own last token after "
         "full acceptance, an MTP head accepted + 1 positions in every round, lookup nothing.",
         "draft model: t_draft(2) − t_draft(1)", also=("catch up",), about=("rounds", "ledger")),
    Term("T_rest", "What else a round takes: accepting, rewinding, waiting, Python. Timed by itself in split rounds, "
         "never as what is left over.", also=("rest",), about=("rounds", "ledger")),
    Term("rewind", "Taking rejected positions out of the cache: trimming keys and values, copying back recurrent "
         "state.", also=("trim",), about=("rounds",)),
    Term("R, round in decode steps", "What a round costs, measured in plain decode steps.", "R = T_round ÷ T_decode",
         ARTICLE_A, (), ("headline", "rounds", "ledger")),
    Term("S, speedup", "Tokens per second with drafts ÷ without. Above 1 drafting wins.",
         "S = E · T_decode ÷ T_round = E ÷ R;  wins ⇔ E > R", LEVIATHAN, ("wins", "loses"), ("headline", "ledger")),
    Term("cannot win", "Even with every draft accepted a round costs more decode steps than the k + 1 tokens it "
         "yields.", "R at full acceptance > k + 1", ARTICLE_A, ("unwinnable",), ("headline",)),
    Term("break-even", "Where drafting neither wins nor loses: the dearest verify pass at an acceptance, or the least "
         "acceptance at a verify pass.", "T_verify ≤ E · T_decode − T_draft − T_rest", ARTICLE_A,
         ("breakeven", "break even"), ("break-even", "headline", "sweep")),
    Term("break-even p", "The acceptance from which on drafting wins; here at k = 1 with a draft model.",
         "p* = (T_verify + t_draft(1) + T_rest − T_decode) ÷ (T_decode − (t_draft(2) − t_draft(1)))", OWN, ("p*",),
         ("break-even", "advice")),
    Term("marginal position", "What one more position costs in a verify pass. Flat is good: the weights are read once "
         "for all positions.", "(T_verify(n) − T_verify(1)) ÷ (n − 1)", about=("sweep", "verify")),
    Term("cliff", "A width where a pass suddenly costs far more, because another kernel or tile takes over. Nothing is "
         "interpolated across one.", also=("tile",), about=("sweep", "verify", "ops")),
    Term("what if", "A question, not a measurement: another p, k, verify or draft cost put into the formulas. Answers "
         "are marked and change no measured number.", also=("what-if",), about=("break-even", "sweep")),
    # ---- how it is measured
    Term("free round", "A round with no wait inside: it gives the speed, T_round and E.", about=("rounds", "ledger")),
    Term("split round", "A round with waits after draft and after verify: it gives T_draft, T_verify and T_rest, and "
         "costs 2 to 3% more.", also=("fence",), about=("rounds", "ledger")),
    Term("probe step", "A pass that is timed and does not advance the text: blocks, and verify at other widths. Taken "
         "between segments, for a share of time called duty.", also=("probe", "duty"), about=("decode", "setup")),
    Term("segment", "About 32 tokens of one arm. Plain, drafting and split segments of the same text take turns in "
         "random order, from one snapshot of the cache.", also=("arm", "abba"), about=("ledger", "rounds")),
    Term("ruler", "A way to time: whole graph, queued, or fenced. Numbers of two rulers are never divided by each "
         "other, but for the two uses of T_decode: a sum of blocks against a whole-graph rate turned a loss of 20% "
         "into a gain of 6.6% on paper.", source=ARTICLE_A, about=("decode", "ledger", "ops")),
    Term("whole graph", "One pass timed from end to end: the only ruler that a verdict is made of.",
         about=("decode", "ledger")),
    Term("fenced sum", "Every block timed between two waits, added up. A wait costs time itself.", "Σ blocks, fenced",
         also=("fenced",), about=("decode", "ops")),
    Term("queued sum", "Every block timed by the slope over several copies of it in one graph, which costs no waits; "
         "the copies go round all layers.", "Σ blocks, queued", also=("queued", "slope"), about=("decode", "ops")),
    Term("hot, cycled", "Copies of a block that stay at one layer find its weights in the cache (hot); going round the "
         "layers (cycled) they read them anew, as generation does.", also=("one layer",), about=("decode",)),
    Term("gap", "What the whole graph takes beyond its blocks: it is in no block, so no faster kernel removes it.",
         "gap = whole graph (synchronous) − Σ blocks (queued)", ARTICLE_A, (), ("decode", "ledger")),
    Term("unattributed", "The part of the gap that no measured part explains.", about=("decode",)),
    Term("floor", "The least that a category can cost on this machine. It says whether a better kernel could make "
         "drafting win.", "max(bytes that must move ÷ bandwidth, flops ÷ peak)",
         "Williams et al. 2009, Roofline", ("roofline",), ("verify", "ops", "ledger")),
    Term("avoidable", "What a category takes above its floor: what a better kernel could save at most.",
         "avoidable = verify − floor", ARTICLE_A, (), ("verify", "ops")),
    Term("census", "Every primitive that a pass runs, with count, bytes and flops, read from the graph itself.",
         also=("primitive", "dispatch"), about=("ops",)),
    Term("amortisation", "How far n positions share what one of them reads: a ratio of 1 means weights are read once "
         "for all, n that they are read again for each.", "T(n) ÷ T(1)", about=("ops", "verify")),
    Term("experts touched", "A mixture of experts reads more experts for more positions, so verify near twice a step "
         "at n = 2 can be the model and not a bad kernel.", "N(n) = X · (1 − (1 − K ÷ X)^n)", ARTICLE_A,
         ("moe", "mixture of experts", "routes"), ("verify", "ops")),
    # ---- how sure
    Term("verdict", "Wins, loses, cannot win, too close, or none. Wins and loses need an interval of S that leaves 1 "
         "out.", also=("no verdict",), about=("headline",)),
    Term("too close", "The interval of the speedup holds 1: more prompts may decide it, or there is little to decide.",
         about=("headline",)),
    Term("interval", "Where the true value lies with 95% confidence. That of S is over prompts: one log ratio of "
         "paired segments each.", "t interval on log(S_prompt)", OWN, ("confidence", "95%"),
         ("headline", "rounds", "ledger")),
    Term("looks, confidence sequence", "A verdict that is watched while it grows would err often with plain 95% "
         "intervals. So looks are declared beforehand and the error is spent over them.",
         source="Howard et al. 2021, Time-uniform confidence sequences; group sequential designs",
         also=("sequential", "optional stopping", "confidence sequence"), about=("headline", "ledger")),
    Term("Wilson interval", "The interval of a share such as p, right near 0 and 1 too; widened where rounds "
         "are alike.", source="Wilson 1927", about=("rounds", "ledger")),
    Term("guard", "A reason to distrust a run: a machine that slowed, drift, zero acceptances, an impossible win. A "
         "guarded run gets no verdict; the guard says what to do.", also=("refused", "remedy"),
         about=("headline", "ledger")),
    Term("canary", "A fixed matrix product timed again and again. If it slows, the machine did, not the model.",
         "late ÷ early", about=("rounds",)),
    Term("predicted", "Speed computed from parts that were timed in other rounds and probes than those it is compared "
         "with. If it is far off, a part is missing.", "S from T_verify, t_draft, catch-up, T_rest, E", about=(
             "headline", "ledger")),
    Term("tie", "Two likeliest tokens so close that another batch shape turns them round. A first difference from "
         "plain text at a tie is arithmetic, else a bug.", also=("margin", "equal to plain"), about=("rounds",)),
    Term("median ± MAD", "The middle of single times and the median distance from it, for display. Divisions use "
         "means, because only means add up.", about=("ledger",)),
    Term("measured, inferred, imported, what-if", "Where a number comes from; the Ledger marks each one.",
         also=("source",), about=("ledger",)),
    Term("draft speedup of the literature", "The textbook estimate with c, a draft step ÷ a decode step. It takes a "
         "verify pass for as cheap as a decode step; T_verify(n) says whether it is.", "S = E ÷ (1 + k · c)",
         f"{LEVIATHAN}; {ARTICLE_B}", ("c",), ("advice",)),
    Term("kv cache", "Keys and values of all positions so far. Verify passes read it once, and rejected positions are "
         "taken out again; --kv-bits stores it in fewer bits.", also=("cache", "kv-bits"), about=("setup",)),
    Term("verify policy", "How a verify pass is made: one pass, single passes, dense copies of quantised weights, or "
         "compiled.", also=("policy",), about=("setup",)),
    Term("survey", "Times passes, blocks and primitives of a model without generating text: costs, no acceptance.",
         about=("ops", "sweep")),
)  # fmt: skip
