"""A page as a look, or the sentence about what it is instead."""

from __future__ import annotations

import pytest
from metrics_server import LlamaServer, Sglang, Vllm

from specview.profilers.record.attaching.fetch import Answer
from specview.profilers.record.attaching.page import NotMetrics, look_at, text_of


def refused(text):
    with pytest.raises(NotMetrics) as failed:
        look_at(text, "http://x/metrics", 0)
    return str(failed.value)


@pytest.mark.parametrize(("page", "engine"), [(Vllm(), "vllm"), (Sglang(), "sglang"), (LlamaServer(), "llama.cpp")])
def test_the_engine_is_seen_from_its_page(page, engine):
    look = look_at(page.text(), "", 7, 2)
    assert (look.engine, look.t_ns, look.slack_ns) == (engine, 7, 2)


def test_when_the_counters_began_is_kept():
    page = Vllm()
    assert look_at(page.text(), "", 0).born_s == 1.7e9
    page.born = 1.8e9
    assert look_at(page.text(), "", 0).born_s == 1.8e9
    assert look_at(LlamaServer().text(), "", 0).born_s is None
    assert look_at(LlamaServer().text() + "process_start_time_seconds never\n", "", 0).born_s is None


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "is an empty page"),
        (" \n\n", "is an empty page"),
        ("<!DOCTYPE html><html></html>", "is a web page"),
        ('{"object": "list"}', "answers in JSON"),
        ("[]", "answers in JSON"),
        ('# TYPE go_goroutines gauge\ngo_goroutines{a="b"} 7\n', "none of vLLM, SGLang or llama-server"),
        ("hello", "is no metrics page"),
        ("vllm:cache_config_info 1.0\n", "has no counters of tokens or drafts"),
        ("vllm:generation_tokens_total NaN\n", "has no counters"),
    ],
)
def test_what_is_no_metrics_page_of_an_engine_is_told(text, sentence):
    assert sentence in refused(text)


def test_bytes_that_are_no_text_do_no_harm():
    body = Vllm().text().encode() + b"\xff\xfe\x00 1\n"
    assert look_at(text_of(Answer(body=body)), "", 0).engine == "vllm"


def test_huge_lines_and_histograms_are_left_out():
    long = f'vllm:spec_decode_num_drafts_total{{a="{"x" * 5000}"}} 9\n'
    look = look_at(Vllm(model="my_bucket{").text() + long, "", 0)
    assert look.counters.rounds == 0
    assert look.counters.models == ("my_bucket{",)


def test_a_page_of_too_many_figures_is_refused():
    page = "".join(f'vllm:generation_tokens_total{{engine="{i}"}} 1\n' for i in range(20_001))
    assert "20,001 figures, too many" in refused(page)


def test_a_line_end_inside_a_label_is_no_line_end():
    page = Vllm(model="a\u2028vllm:generation_tokens_total 9\x85b")
    page.generated = 4
    assert look_at(page.text(), "", 0).counters.generated == 4


def test_of_two_engines_on_a_page_only_one_is_read():
    look = look_at(Vllm().text() + "sglang:generation_tokens_total 5\n", "", 0)
    assert {name.partition(":")[0] for name, _ in look.samples} == {"vllm"}
