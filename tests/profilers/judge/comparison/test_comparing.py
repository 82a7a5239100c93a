"""Two built sessions: a known change is found where it was made, and nothing where nothing was."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from compared_sessions import VERIFY, named

from specview.engine.errors import SpecviewError
from specview.profilers.judge.comparison.comparing import Compared, compare, compare_all
from specview.profilers.judge.comparison.environments import UnlikeError
from specview.profilers.judge.comparison.split import Part

DEARER = {**VERIFY, 2: VERIFY[2] * 1.1}


def parts(compared: Compared) -> dict[str, Part]:
    assert compared.split is not None
    return {each.name: each for each in compared.split.parts}


@pytest.fixture(scope="module")
def dearer() -> Compared:
    return compare(named("a", 1), named("b", 2, verify=DEARER))


def test_a_dearer_verify_pass_is_found_in_verify_and_nowhere_else(dearer: Compared) -> None:
    found = parts(dearer)
    assert found["verify"].log_speed.finding == "real"
    assert found["verify"].round_ms is not None and found["verify"].round_ms.estimate == pytest.approx(1.24, abs=0.03)
    for name in ("draft", "rest"):
        assert abs(found[name].log_speed.estimate) < 0.003, name
    assert abs(found["acceptance"].log_speed.estimate) < 0.01
    verify = dearer.change("verify_ms")
    assert verify is not None and verify.log_ratio is not None and verify.finding == "real"
    assert math.exp(verify.log_ratio.estimate) == pytest.approx(1.10, abs=0.005)
    drafting, plain = dearer.change("drafting_tokens_per_second"), dearer.change("plain_tokens_per_second")
    assert drafting is not None and drafting.finding == "real" and drafting.log_ratio is not None
    assert drafting.log_ratio.estimate == pytest.approx(-1.24 / 14.5, abs=0.01)
    assert plain is not None and abs(plain.log_ratio.estimate if plain.log_ratio else 1) < 0.005


def test_parts_add_up_to_the_whole_and_pieces_to_their_part(dearer: Compared) -> None:
    split = dearer.split
    assert split is not None
    top = [each for each in split.parts if each.level == 0]
    assert math.fsum(each.log_speed.estimate for each in top) == pytest.approx(split.log_speed.estimate, abs=1e-12)
    assert math.fsum(each.token_ms.estimate for each in top) == pytest.approx(split.token_ms.estimate, abs=1e-9)
    assert split.token_ms.estimate == pytest.approx(split.other_token_ms - split.base_token_ms, abs=1e-9)
    pieces = [each for each in split.parts if each.level == 1]
    verify = parts(dearer)["verify"]
    assert {"linear attention", "in no block"} <= {each.name for each in pieces}
    assert math.fsum(each.token_ms.estimate for each in pieces) == pytest.approx(verify.token_ms.estimate, abs=1e-9)
    drafting = dearer.change("drafting_tokens_per_second")
    assert drafting is not None and drafting.log_ratio is not None
    assert split.log_speed.estimate == pytest.approx(drafting.log_ratio.estimate, abs=1e-12)
    speedup = dearer.change("speedup_times")
    assert speedup is not None and speedup.log_ratio is not None and split.decode is not None
    assert speedup.log_ratio.estimate == pytest.approx(split.log_speed.estimate + split.decode.estimate, abs=1e-12)


def test_swapping_the_sessions_turns_every_sign(dearer: Compared) -> None:
    back = compare(named("b", 2, verify=DEARER), named("a", 1))
    assert back.split is not None and dearer.split is not None
    for there, again in zip(dearer.split.parts, back.split.parts, strict=True):
        assert again.log_speed.estimate == pytest.approx(-there.log_speed.estimate, abs=1e-9), there.name
        assert again.log_speed.finding == there.log_speed.finding


def test_fewer_accepted_drafts_are_found_in_acceptance() -> None:
    found = compare(named("a", 1), named("b", 2, p=0.5))
    part = parts(found)["acceptance"]
    assert part.log_speed.finding == "real" and part.log_speed.estimate == pytest.approx(math.log(1.5 / 1.8), abs=0.04)
    assert abs(parts(found)["verify"].log_speed.estimate) < 0.005
    alpha = found.change("acceptance_conditional")
    assert alpha is not None and alpha.log_ratio is None and alpha.finding == "real"
    assert alpha.difference is not None and alpha.difference.estimate == pytest.approx(-0.3, abs=0.04)


def test_a_dearer_draft_is_found_in_draft() -> None:
    found = parts(compare(named("a", 1), named("b", 2, draft=2.4)))
    assert found["draft"].log_speed.finding == "real" and found["draft"].log_speed.estimate < -0.05
    assert abs(found["verify"].log_speed.estimate) < 0.005


def test_longer_drafts_are_told_apart_from_better_ones() -> None:
    found = compare(named("a", 1), named("b", 2, k=3))
    by_name = parts(found)
    assert [each.fact for each in found.differences if each.standing == "change"] == ["k"]
    assert by_name["draft length"].log_speed.estimate > 0.1 and by_name["draft length"].log_speed.finding == "real"
    assert abs(by_name["acceptance"].log_speed.estimate) < 0.06
    assert found.wider_ms == pytest.approx(VERIFY[4] - VERIFY[2], abs=0.1)
    assert found.dearer_ms == pytest.approx(0, abs=0.1)


def test_the_same_session_twice_differs_in_nothing() -> None:
    found = compare(named("a"), named("a"))
    assert found.differences == () and found.paired and found.scope == "prompts" and found.shared == 9
    assert all(each.finding != "real" for each in found.changes)
    assert all(each.difference is None or each.difference.estimate == 0 for each in found.changes)


def test_prompts_that_only_one_measured_are_left_out() -> None:
    found = compare(named("a", 1, prompts=9), named("b", 2, prompts=6))
    assert found.shared == 6 and found.units == (6, 6) and found.prompts == (9, 6)
    assert any("6 prompts that both measured" in said for said in found.cautions)


def test_one_prompt_is_one_prompt_and_not_several() -> None:
    found = compare(named("a", 1, prompts=1, segments=8), named("b", 2, prompts=2, segments=8))
    (prompts,) = [each for each in found.differences if each.fact == "prompts"]
    assert (prompts.base, prompts.other) == ("1 prompt", "2 prompts")
    assert any("the 1 prompt that both measured; up to 1 more is left out" in said for said in found.cautions)


def test_one_prompt_is_compared_over_its_segments_and_says_so() -> None:
    found = compare(named("a", 1, prompts=1, segments=8), named("b", 2, prompts=1, segments=8))
    assert found.scope == "segments" and found.units == (8, 8)
    assert any("these prompts only" in said for said in found.cautions)


def test_unlike_machines_and_models_are_refused_and_named() -> None:
    base = named("a")
    for changed, words in (
        ({"environment": {"blas": "OpenBLAS"}}, "BLAS Accelerate in A, OpenBLAS in B"),
        ({"environment": {"chip": "Apple M3"}}, "chip Apple M1 Max in A, Apple M3 in B"),
        ({"quantisation": "8-bit"}, "quantisation 4-bit in A, 8-bit in B"),
        ({"dtype": "float32"}, "dtype"),
    ):
        other = named("b", **changed)  # type: ignore[arg-type]
        with pytest.raises(UnlikeError, match=words) as caught:
            compare(base, other)
        assert caught.value.differences
        assert compare(base, other, anyway=True).differences == caught.value.differences


def test_what_people_compare_on_purpose_is_a_change_and_no_refusal() -> None:
    found = compare(named("a"), named("b", environment={"mlx": "0.33.0", "python": "CPython 3.13"}))
    assert [(each.fact, each.standing) for each in found.differences] == [("MLX", "change"), ("Python", "told")]
    assert not any("Several things" in said for said in found.cautions)
    two = compare(named("a"), named("b", 2, k=3, environment={"mlx": "0.33.0"}))
    assert any("Several things changed at once (k, MLX)" in said for said in two.cautions)


def test_a_run_that_is_not_to_be_trusted_gives_its_reason() -> None:
    found = compare(named("a"), named("b", others=0.6))
    assert found.doubts == ("B: Other programs kept 60% of the processor busy.",)


def test_a_machine_that_was_slower_all_along_is_told_by_its_fixed_product() -> None:
    slow = named("b", 2)
    calibrations = tuple(
        type(c)(what=c.what, dtype=c.dtype, value=c.value * 1.3, unit=c.unit, t_ns=c.t_ns)
        for c in slow.session.calibrations
    )
    slow = replace(slow, session=replace(slow.session, calibrations=calibrations))
    found = compare(named("a"), slow)
    assert any("machine itself was 30% slower during B" in said for said in found.doubts)
    newer = replace(slow.session.header.environment, mlx="0.33.0")
    slow = replace(slow, session=replace(slow.session, header=replace(slow.session.header, environment=newer)))
    assert compare(named("a"), slow).doubts == ()


def test_the_first_of_several_is_the_base() -> None:
    found = compare_all([named("a", 1), named("b", 2), named("c", 3, verify=DEARER)])
    assert [each.base.name for each in found] == ["a", "a"] and [each.other.name for each in found] == ["b", "c"]
    with pytest.raises(SpecviewError, match="two sessions"):
        compare_all([named("a")])


def test_a_refusal_with_many_reasons_names_three_in_full_and_the_others_by_name() -> None:
    other = named("b", environment={"chip": "M9", "device": "cpu", "blas": "x"}, dtype="float32", id="another")
    with pytest.raises(UnlikeError, match=r"BLAS Accelerate in A, x in B; and model, dtype too\. A difference"):
        compare(named("a"), other)
