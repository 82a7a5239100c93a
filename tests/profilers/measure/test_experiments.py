"""Experiments: which switches there are, processes that take turns and end together, and one real run."""

from __future__ import annotations

import io
import itertools
import json
import os
import random
import sys
from collections import Counter

import pytest

from specview.engine.errors import SpecviewError
from specview.profilers.measure.experiment_child import Child, serve
from specview.profilers.measure.experiment_process import ChildError, ChildProcess
from specview.profilers.measure.experiments import (
    AGAIN,
    CONTROL,
    ExperimentError,
    ExperimentModel,
    Setting,
    Switch,
    run_experiment,
    switch_named,
    switches,
)
from specview.profilers.record.experiment_records import experiment_record

# Answers as the real one does; FACTOR says what a pass takes, MODE what goes wrong.
SCRIPTED = """
import json, os, sys
factor = int(os.environ.get("FACTOR", "1"))
for line in sys.stdin:
    asked = json.loads(line)
    if "load" in asked:
        assert asked["load"]["source"] == "some/model"
        answer = {"context": asked["load"]["context"], "active_bytes": 1000, "detail": "a BLAS"}
    elif os.environ.get("MODE") == "dies":
        sys.exit("out of luck")
    elif os.environ.get("MODE") == "rubbish":
        answer = {"samples_ns": ["quick"]}
    else:
        answer = {"samples_ns": [1000 * factor * asked["width"]] * 3, "peak_bytes": 5 * factor, "cache_bytes": 2}
    print(json.dumps(answer), flush=True)
"""
MODEL = ExperimentModel(source="some/model", context=16)
TWICE = Switch(name="factor", title="t", settings=(Setting(arm="twice", changes=(("FACTOR", "2"),)),))


def failing(mode):
    return Switch(name="mode", title="t", settings=(Setting(arm="broken", changes=(("MODE", mode),)),))


def scripted(switch, widths=(1, 2), repeats=2, **more):
    options = {
        "environment": dict(os.environ),
        "random_source": random.Random(0),
        "command": (sys.executable, "-c", SCRIPTED),
        "available_bytes": lambda: None,
    }
    clock = itertools.count().__next__
    return run_experiment(switch, MODEL, widths, repeats, clock, **{**options, **more})


@pytest.fixture
def processes(monkeypatch):
    """Every child process that was started."""
    started = []
    enter = ChildProcess.__enter__
    monkeypatch.setattr(ChildProcess, "__enter__", lambda self: (started.append(self), enter(self))[1])
    return started


def all_gone(processes):
    return bool(processes) and all(p._process.returncode is not None for p in processes)


def test_arms_take_turns_forth_and_back_and_all_end(processes):
    heard = []
    visits = list(scripted(TWICE, progress=lambda done, of: heard.append((done, of))))
    assert Counter((v.arm, v.width) for v in visits) == {
        (arm, width): 4 for arm in (CONTROL, AGAIN, "twice") for width in (1, 2)
    }
    order = [v.arm for v in visits if v.width == 1]
    assert order[:3] == order[3:6][::-1] and order[6:9] == order[9:][::-1]
    assert {v.arm for v in visits if v.control} == {CONTROL, AGAIN}
    assert {v.samples_ns for v in visits if v.arm == "twice" and v.width == 2} == {(4000,) * 3}
    assert [v.t_ns for v in visits] == sorted(v.t_ns for v in visits)
    assert heard == [(i + 1, 24) for i in range(24)]
    first = experiment_record(visits[0])
    assert (first.name, first.context, first.detail) == ("factor", 16, "a BLAS") and first.samples_ns
    assert all_gone(processes)


@pytest.mark.parametrize(("mode", "sentence"), [("dies", "out of luck"), ("rubbish", "samples_ns")])
def test_a_process_that_fails_is_one_sentence_and_none_is_left(processes, mode, sentence):
    with pytest.raises(ChildError, match=sentence):
        list(scripted(failing(mode)))
    assert len(processes) == 3 and all_gone(processes)


def test_leaving_early_leaves_no_process(processes):
    visits = scripted(TWICE)
    next(visits)
    visits.close()
    assert len(processes) == 3 and all_gone(processes)


def test_processes_that_do_not_fit_in_memory_are_not_started(processes):
    with pytest.raises(ExperimentError, match="do not fit"):
        list(scripted(TWICE, available_bytes=lambda: 1500))
    assert len(processes) == 1 and all_gone(processes)


def test_the_cpu_has_compile_and_blas_and_buffers_only_as_a_control():
    found = {s.name: s for s in switches("cpu", {}, lambda: "/lib/libopenblas.so.0")}
    assert set(found) == {"compile", "max-ops-per-buffer", "max-mb-per-buffer", "blas"}
    assert found["compile"].available and found["blas"].available
    for name in ("max-ops-per-buffer", "max-mb-per-buffer"):
        assert not found[name].available and found[name].runnable and "control only" in found[name].reason
    applied = found["blas"].settings[0].applied({"LD_PRELOAD": "", "HOME": "h"})
    assert applied == {"LD_PRELOAD": "/lib/libopenblas.so.0", "OPENBLAS_NUM_THREADS": "1", "HOME": "h"}


def test_a_gpu_has_buffers_and_no_blas():
    found = {s.name: s for s in switches("gpu metal", {}, lambda: None)}
    assert found["max-ops-per-buffer"].available and len(found["max-mb-per-buffer"].settings) == 2
    assert not found["blas"].runnable and "GPU" in found["blas"].reason
    with pytest.raises(ExperimentError, match="cannot be run here"):
        list(scripted(found["blas"]))


def test_a_switch_that_is_thrown_already_is_thrown_back():
    environment = {"MLX_DISABLE_COMPILE": "1", "LD_PRELOAD": "/a/libother.so /b/libopenblas.so.0"}
    found = {s.name: s for s in switches("cpu", environment, lambda: None)}
    assert found["compile"].settings[0].arm == "compile on"
    assert found["compile"].settings[0].applied(environment) == {"LD_PRELOAD": environment["LD_PRELOAD"]}
    assert found["blas"].settings[0].applied(environment)["LD_PRELOAD"] == "/a/libother.so"
    without = {s.name: s for s in switches("cpu", {}, lambda: None)}["blas"]
    assert not without.runnable and "No OpenBLAS" in without.reason


def test_an_experiment_that_is_not_there_is_a_sentence_with_the_names():
    known = switches("cpu", {}, lambda: None)
    assert switch_named("compile", known).name == "compile"
    with pytest.raises(ExperimentError, match="compile, max-ops-per-buffer"):
        switch_named("magic", known)


def test_the_child_answers_until_a_request_cannot_be_met():
    class Scripted(Child):
        def answer(self, request):
            if request == "bad":
                raise SpecviewError("That cannot be.")
            return {"got": request}

    out = io.BytesIO()
    assert serve(Scripted(lambda: 0), [b"1\n", b'"bad"\n', b"2\n"], out) == 1
    assert [json.loads(line) for line in out.getvalue().splitlines()] == [{"got": 1}, {"error": "That cannot be."}]
    assert serve(Scripted(lambda: 0), [], io.BytesIO()) == 0


@pytest.mark.parametrize("request_", [None, 3, {}, {"width": 1}, {"width": "1"}, {"load": 3}])
def test_the_child_refuses_what_is_no_request(request_):
    with pytest.raises(SpecviewError, match="names a model to load first"):
        Child(lambda: 0).answer(request_)


def test_the_bundled_model_runs_in_processes_of_its_own(processes):
    switch = switch_named("compile", switches("cpu", os.environ, lambda: None))
    visits = list(
        run_experiment(
            switch,
            ExperimentModel(source="bundled", dtype="float32", context=16),
            (2,),
            1,
            itertools.count().__next__,
            environment=dict(os.environ),
            random_source=random.Random(0),
        )
    )
    assert len(visits) == 6 and all(min(v.samples_ns) > 0 and v.peak_bytes > 0 for v in visits)
    assert all_gone(processes)
