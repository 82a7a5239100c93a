"""Output with drafts against plain greedy: equal, a tie, or a bug."""

from __future__ import annotations

from types import SimpleNamespace

import mlx.core as mx
import pytest

from specview.engine import accept as rules
from specview.engine import decode as loops
from specview.engine.decode import decode, speculate, start
from specview.engine.drafters import Draft
from specview.engine.drafters.lookup import PromptLookup
from specview.engine.drafters.mtp import MtpDrafter, load_mtp_head
from specview.engine.probe import FreeProbe
from specview.profilers.measure.equality import compare_outputs

PROMPT = "In the beginning of the file there is a header. In the beginning of the"


def generation_with(logits, dtype=mx.float32):
    """A generation whose target gives the same logits everywhere."""
    model = SimpleNamespace(parameters=lambda: {"weight": mx.zeros((2, 2), dtype=dtype)})
    row = mx.array(logits, dtype=dtype)[None, None]
    target = SimpleNamespace(model=model, logits=lambda tokens, cache: row)
    return SimpleNamespace(target=target, tokens=[1, 2, 3], cache=[], kv=None)


def test_equal_outputs_are_equal():
    found = compare_outputs(generation_with([0.0, 1.0]), [1, 1, 1], [1, 1, 1])
    assert (found.judged, found.compared, found.first_difference, found.margin) == ("equal", 3, None, None)


def test_only_what_both_wrote_is_compared():
    found = compare_outputs(generation_with([0.0, 1.0]), [1, 1], [1, 1, 0])
    assert (found.judged, found.compared) == ("equal", 2)


def test_an_exact_tie_is_a_tie():
    found = compare_outputs(generation_with([5.0, 5.0, 1.0]), [0, 0, 0], [0, 1, 1])
    assert (found.judged, found.first_difference, found.margin) == ("tie", 1, 0.0)


def test_a_margin_of_the_last_places_is_a_tie():
    found = compare_outputs(generation_with([5.0, 5.0 - 5e-4]), [0], [1])
    assert found.judged == "tie"
    assert found.margin == pytest.approx(5e-4, rel=1e-2)


def test_a_clear_margin_is_a_bug():
    found = compare_outputs(generation_with([5.0, 4.5]), [0], [1])
    assert (found.judged, found.margin) == ("bug", 0.5)


def test_a_tie_between_two_tokens_that_are_not_the_best_is_a_bug():
    assert compare_outputs(generation_with([9.0, 5.0, 5.0]), [1], [2]).judged == "bug"


def test_a_coarse_dtype_ties_at_wider_margins():
    assert compare_outputs(generation_with([20.0, 19.875], mx.bfloat16), [0], [1]).judged == "tie"
    assert compare_outputs(generation_with([20.0, 19.875], mx.float32), [0], [1]).judged == "bug"
    assert compare_outputs(generation_with([20.0, 18.0], mx.bfloat16), [0], [1]).judged == "bug"


def outputs(target, clock, make_drafter, k=3, count=16):
    """Plain and drafted continuations of a prompt, and a generation at its start."""
    prompt = target.tokenizer.encode(PROMPT)
    plain = [s.token for s in decode(start(target, prompt), count, clock)]
    drafter = make_drafter()
    generation = start(target, prompt, drafter)
    drafted = [t for r in speculate(generation, drafter, k, count, FreeProbe(clock)) for t in r.tokens]
    return plain, drafted, start(target, prompt)


def test_the_real_loop_is_equal(bundled, fake_clock):
    plain, drafted, fresh = outputs(bundled, fake_clock, PromptLookup)
    assert compare_outputs(fresh, plain, drafted).judged == "equal"


def test_one_wrongly_accepted_token_is_a_bug(bundled, fake_clock, monkeypatch):
    right = rules.accept_greedy
    rounds = []

    def greedy_but_once(drafted, choices):
        rounds.append(1)
        if len(rounds) == 3 and drafted:
            drafted = [(choices[0] + 1) % 4096, *drafted[1:]]
            return 1, (drafted[0], choices[1])
        return right(drafted, choices)

    monkeypatch.setattr(rules, "accept_greedy", greedy_but_once)
    plain, drafted, fresh = outputs(bundled, fake_clock, lambda: MtpDrafter(bundled, load_mtp_head(bundled, "float32")))
    found = compare_outputs(fresh, plain, drafted)
    assert found.judged == "bug"
    assert found.margin > 0.01


def test_a_cache_that_was_not_rewound_is_a_bug(bundled, fake_clock, monkeypatch):
    right = loops.rewind
    monkeypatch.setattr(loops, "rewind", lambda caches, width, kept: right(caches, width, width))

    class Wrong(PromptLookup):
        """Always guesses the same three tokens."""

        def draft(self, tokens, k):
            return Draft(mx.array([9, 8, 7], dtype=mx.int32), 0)

    plain, drafted, fresh = outputs(bundled, fake_clock, Wrong)
    assert compare_outputs(fresh, plain, drafted).judged == "bug"
