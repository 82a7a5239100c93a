"""Commands for a running recorder: one JSON object a line, and nothing a line holds may stop it."""

from __future__ import annotations

import io

import pytest

from specview.engine.errors import SpecviewError
from specview.profilers.record.plan import Plan, PlanError
from specview.profilers.record.steering import Command, Steering, changed_plan, parsed_command


@pytest.mark.parametrize("action", ["pause", "resume", "next_prompt"])
def test_a_plain_command(action):
    assert parsed_command(f'{{"action": "{action}"}}') == Command(action)


def test_stop_says_who_asked():
    assert parsed_command('{"action": "stop"}').reason == "the app asked for it"


def test_change_carries_what_is_to_change():
    command = parsed_command('{"action": "change", "k": 3, "drafter": "lookup", "prompts": "code", "more": 1}')
    assert command == Command("change", k=3, drafter="lookup", prompts="code")


@pytest.mark.parametrize("k", ["true", '"3"', "1.5", "null", "[3]"])
def test_a_k_that_is_no_number_is_left_out(k):
    assert parsed_command(f'{{"action": "change", "k": {k}}}') == Command("change")


def test_change_carries_the_rule_and_how_rounds_are_played():
    line = (
        '{"action": "change", "rule": "rejection", "temperature": 1, "top_p": 0.9, "policy": "dense", "adaptive": true}'
    )
    assert parsed_command(line) == Command(
        "change", rule="rejection", temperature=1.0, top_p=0.9, policy="dense", adaptive=True
    )


@pytest.mark.parametrize("field", ["rule", "temperature", "top_p", "policy", "adaptive"])
@pytest.mark.parametrize("wish", ["[]", "{}", "null", "NaN", "-Infinity", "1e999", pytest.param("9" * 400, id="long")])
def test_a_wish_that_is_no_value_is_left_out(field, wish):
    assert parsed_command(f'{{"action": "change", "{field}": {wish}}}') == Command("change")


@pytest.mark.parametrize(
    "wish",
    ['"rule": 3', '"temperature": "hot"', '"temperature": true', '"top_p": "1"', '"policy": 1', '"adaptive": 1'],
)
def test_a_wish_of_the_wrong_kind_is_left_out(wish):
    assert parsed_command(f'{{"action": "change", {wish}}}') == Command("change")


def test_a_change_leaves_what_it_does_not_name():
    plan = Plan(k=3, drafter="lookup", temperature=0.7, top_p=0.9, policy="compiled", adaptive=True)
    assert changed_plan(plan, Command("change")) == plan
    assert changed_plan(plan, Command("change", k=0, adaptive=False)) == Plan(
        k=0, drafter="lookup", temperature=0.7, top_p=0.9, policy="compiled"
    )


def test_the_rule_greedy_brings_temperature_0():
    drawn = Plan(rule="exact", temperature=0.7)
    assert changed_plan(drawn, Command("change", rule="greedy")) == Plan(rule="greedy")
    with pytest.raises(PlanError, match="greedy"):
        changed_plan(drawn, Command("change", rule="greedy", temperature=0.5))


@pytest.mark.parametrize("wish", [{"rule": "rejection"}, {"rule": "dance"}, {"k": -1}])
def test_a_change_to_a_plan_that_makes_no_sense_is_refused(wish):
    with pytest.raises(SpecviewError):
        changed_plan(Plan(), Command("change", **wish))


@pytest.mark.parametrize(
    "line",
    [
        *("", "\n", "nonsense", "{", "[]", "3", "null", '"stop"', "{}", "[" * 100_000),
        *('{"action": "dance"}', '{"action": ["stop"]}', '{"action": {}}'),
    ],
)
def test_a_line_that_makes_no_sense_is_no_command(line):
    assert parsed_command(line) is None


def all_of(steering):
    """Commands up to the stop that the end of the stream sends."""
    commands = [steering.wait()]
    while commands[-1].action != "stop":
        commands.append(steering.wait())
    return commands


def test_commands_come_in_order_and_the_end_of_the_stream_stops():
    steering = Steering(io.StringIO('{"action": "pause"}\nwhat?\n{"action": "resume"}\n'))
    commands = all_of(steering)
    assert [c.action for c in commands] == ["pause", "resume", "stop"]
    assert commands[-1].reason == "whoever started the recorder is gone"


def test_a_last_line_without_newline_counts():
    assert [c.action for c in all_of(Steering(io.StringIO('{"action": "pause"}')))] == ["pause", "stop"]


def test_a_stream_that_breaks_stops():
    class Broken(io.StringIO):
        def __next__(self):
            raise OSError("gone")

    assert [c.action for c in all_of(Steering(Broken()))] == ["stop"]


def test_without_a_stream_nothing_comes():
    steering = Steering()
    assert steering.poll() is None
    steering.send(Command("pause"))
    assert steering.poll() == Command("pause")
    assert steering.poll() is None


def test_a_nap_that_nothing_interrupts_is_slept_through():
    steering = Steering()
    assert steering.nap(0.001) is True
    assert steering.poll() is None


@pytest.mark.parametrize("taken", ["poll", "wait"])
def test_a_command_wakes_a_nap_and_still_waits(taken):
    steering = Steering()
    steering.send(Command("pause"))
    assert steering.nap(3600.0) is False
    assert getattr(steering, taken)() == Command("pause")
    assert steering.poll() is None


def test_no_nap_is_taken_while_a_command_waits():
    steering = Steering()
    steering.send(Command("pause"))
    steering.nap(3600.0)
    assert steering.nap(3600.0) is False


def test_commands_keep_their_order_over_a_nap():
    steering = Steering()
    for action in ("pause", "next_prompt", "resume"):
        steering.send(Command(action))
    steering.nap(3600.0)
    assert [steering.poll().action, steering.wait().action, steering.poll().action] == [
        "pause",
        "next_prompt",
        "resume",
    ]


def test_the_end_of_the_stream_wakes_a_nap():
    steering = Steering(io.StringIO(""))
    assert steering.nap(3600.0) is False
    assert steering.wait().action == "stop"
