"""Prompt caches: read chunk by chunk, kept in mlx-lm's format, and refused for another model or prompt."""

from __future__ import annotations

from dataclasses import replace

import mlx.core as mx
import numpy as np
import pytest
from mlx_lm.models.cache import load_prompt_cache, make_prompt_cache, save_prompt_cache
from tiny_models import tiny_target

from specview.engine.cache import new_cache, prefill
from specview.engine.decode import Generation, decode, speculate, start
from specview.engine.drafters.lookup import PromptLookup
from specview.engine.kv_quantisation import KvQuantisation
from specview.engine.probe import FreeProbe
from specview.engine.prompt_cache import PromptCacheError, caches_of, open_prompt, read_prompt, save_prompt
from specview.engine.verify_policies import verify_policy

PROMPT = [5, 17, 3, 60, 42, 8, 1, 33, 5, 17, 3]


def saved(tmp_path, target, tokens=PROMPT[:6], name="p.safetensors", kv=None):
    caches = new_cache(target)
    read_prompt(target, tokens, caches, kv=kv)
    save_prompt(tmp_path / name, target, tokens, caches)
    return tmp_path / name


def loaded(path, target):
    """How many positions a file holds, and its caches."""
    cached = open_prompt(path, target)
    return cached.positions, caches_of(cached, target)


def continued(target, path, prompt=PROMPT, count=8):
    positions, caches = loaded(path, target)
    read_prompt(target, prompt[positions:-1], caches)
    return Generation(target, list(prompt), caches)


def test_reading_in_chunks_tells_how_far_it_is_and_ends_as_a_prefill_does():
    target, heard = tiny_target("llama"), []
    caches, whole = new_cache(target), new_cache(target)
    reading = read_prompt(target, PROMPT, caches, keep_hidden=True, chunk=4, going=lambda *n: heard.append(n) is None)
    assert heard == [(4, 11), (8, 11), (11, 11)] and reading.finished
    hidden = prefill(target, PROMPT, whole, keep_hidden=True)
    np.testing.assert_allclose(np.array(reading.hidden), np.array(hidden), atol=1e-5)
    a, b = (target.logits(mx.array([[9]]), c) for c in (caches, whole))
    np.testing.assert_allclose(np.array(a), np.array(b), atol=1e-5)


@pytest.mark.parametrize("model_type", ["llama", "qwen3_next"])
def test_a_reading_that_was_stopped_can_go_on(model_type):
    target = tiny_target(model_type)
    caches = new_cache(target)
    reading = read_prompt(target, PROMPT[:-1], caches, chunk=4, going=lambda read, total: read < 8)
    assert (reading.read, reading.finished, reading.hidden) == (8, False, None)
    read_prompt(target, PROMPT[reading.read : -1], caches)
    plain = [s.token for s in decode(start(target, PROMPT), 6, lambda: 0)]
    assert [s.token for s in decode(Generation(target, list(PROMPT), caches), 6, lambda: 0)] == plain


def test_a_policy_may_run_the_chunks(stored):
    tokens = stored.tokenizer.encode("def push(self, item):\n    return item\n")
    caches, dense = new_cache(stored), new_cache(stored)
    read_prompt(stored, tokens, caches)
    read_prompt(stored, tokens, dense, policy=verify_policy("dense on the fly", stored), chunk=4)
    a, b = (stored.logits(mx.array([[9]]), c) for c in (caches, dense))
    np.testing.assert_allclose(np.array(a), np.array(b), atol=1e-3)


def test_nothing_to_read_is_nothing_read():
    target = tiny_target("llama")
    assert read_prompt(target, [], new_cache(target)).finished


# gemma3 has windows, qwen3_next recurrent state, deepseek_v32 lists of caches
@pytest.mark.parametrize("model_type", ["llama", "qwen3_next", "mamba2", "gemma3", "deepseek_v32"])
def test_a_saved_prompt_goes_on_as_if_it_had_just_been_read(tmp_path, model_type):
    target = tiny_target(model_type)
    plain = [s.token for s in decode(start(target, PROMPT), 8, lambda: 0)]
    path = saved(tmp_path, target)
    assert [s.token for s in decode(continued(target, path), 8, lambda: 0)] == plain


@pytest.mark.parametrize("model_type", ["llama", "qwen3_next"])
def test_loaded_caches_can_be_rewound(tmp_path, model_type):
    target = tiny_target(model_type)
    plain = [s.token for s in decode(start(target, PROMPT), 8, lambda: 0)]
    drafter, generation = PromptLookup(), continued(target, saved(tmp_path, target))
    drafter.begin(PROMPT, None)
    rounds = list(speculate(generation, drafter, 3, 8, FreeProbe(lambda: 0)))
    assert [t for r in rounds for t in r.tokens][:8] == plain


def test_quantised_caches_are_kept_and_loaded_too(tmp_path, bundled):
    tokens = bundled.tokenizer.encode("def push(self, item):\n    return item\n")
    path = saved(tmp_path, bundled, tokens[:-2], kv=KvQuantisation(bits=8))
    assert {type(c).__name__ for c in loaded(path, bundled)[1]} == {"QuantizedKVCache", "TapedCache"}
    assert [s.token for s in decode(continued(bundled, path, tokens), 2, lambda: 0)]


def test_mlx_lm_reads_our_files_and_we_read_its(tmp_path):
    target = tiny_target("qwen3_next")
    caches, metadata = load_prompt_cache(str(saved(tmp_path, target)), return_metadata=True)
    assert metadata["model"] == "qwen3_next" and len(caches) == len(target.model.layers)
    theirs = make_prompt_cache(target.model)
    mx.eval(target.model(mx.array([PROMPT[:6]]), cache=theirs))
    path = tmp_path / "theirs.safetensors"
    save_prompt_cache(str(path), theirs, {"model": "some/folder/qwen3_next", "tokenizer_config": "{}"})
    assert loaded(path, target)[0] == 6


def test_a_cache_of_another_model_is_refused(tmp_path):
    target = tiny_target("llama")
    path = saved(tmp_path, target)
    with pytest.raises(PromptCacheError, match="is of the model llama, not of org/other"):
        loaded(path, replace(target, name="org/other"))
    for other in ("qwen3_next", "gpt2"):
        with pytest.raises(PromptCacheError, match="does not fit llama, so it is of another model"):
            loaded(path, replace(tiny_target(other), name="llama"))


def test_a_model_with_an_endless_name_is_named_in_short(tmp_path):
    target = tiny_target("llama")
    path = tampered(
        saved(tmp_path, target), "t.safetensors", lambda _, metadata: metadata.update({"0.specview_model": "x" * 5000})
    )
    with pytest.raises(PromptCacheError, match=r"is of the model x{80}, not of llama"):
        open_prompt(path, target)


def test_a_path_too_long_for_a_file_is_a_sentence(tmp_path):
    target, path = tiny_target("llama"), tmp_path / f"{'x' * 300}.safetensors"
    with pytest.raises(PromptCacheError, match=r"^x{80} cannot be read \(File name too long\): name another file"):
        open_prompt(path, target)
    with pytest.raises(PromptCacheError, match=r"^x{80} cannot be written \(File name too long\): choose another name"):
        save_prompt(path, target, PROMPT, new_cache(target))


def test_a_file_that_does_not_match_its_own_tokens_is_refused(tmp_path):
    target = tiny_target("llama")
    caches = new_cache(target)
    prefill(target, PROMPT[:6], caches)
    save_prompt(tmp_path / "p.safetensors", target, PROMPT[:4], caches)
    with pytest.raises(PromptCacheError, match="holds another prompt"):
        loaded(tmp_path / "p.safetensors", target)


def test_recurrent_caches_that_do_not_say_how_far_they_are_are_refused(tmp_path):
    target = tiny_target("mamba")
    caches = make_prompt_cache(target.model)
    mx.eval(target.model(mx.array([PROMPT[:6]]), cache=caches))
    save_prompt_cache(str(tmp_path / "p.safetensors"), caches, {"model": "mamba"})
    with pytest.raises(PromptCacheError, match="does not say how many tokens"):
        loaded(tmp_path / "p.safetensors", target)


@pytest.mark.parametrize("content", [b"", b"no cache", b"\x10\0\0\0\0\0\0\0{}              "])
def test_a_file_that_is_no_prompt_cache_is_a_sentence(tmp_path, content):
    path = tmp_path / "p.safetensors"
    path.write_bytes(content)
    with pytest.raises(PromptCacheError, match=r"p\.safetensors cannot be read as a prompt cache"):
        loaded(path, tiny_target("llama"))


def tampered(path, name, change):
    """A copy of a file in which `change(arrays, metadata)` had its way."""
    arrays, metadata = mx.load(str(path), return_metadata=True)
    change(arrays, metadata)
    mx.save_safetensors(str(path.with_name(name)), arrays, metadata)
    return path.with_name(name)


def number(suffix, value):
    """Every scalar whose name ends so becomes `value`."""

    def change(arrays, metadata):
        arrays.update({k: mx.array(value) for k in arrays if k.endswith(suffix) and arrays[k].ndim == 0})

    return change


@pytest.mark.parametrize("token", ["Infinity", "NaN", "1e400", "1000000000000", "-5", "100000", "null", '"a"'])
def test_tokens_that_the_model_does_not_have_are_refused(tmp_path, token):
    target = tiny_target("llama")
    path = tampered(
        saved(tmp_path, target), "t.safetensors", lambda _, metadata: metadata.update({"0.tokens": f"[{token}]"})
    )
    with pytest.raises(PromptCacheError, match=r"t\.safetensors cannot be read as a prompt cache"):
        loaded(path, target)


@pytest.mark.parametrize(
    "change",
    [
        number(".4", 0),
        number(".4", 8),
        number(".4", 4.0),
        number(".3", 0),
        number(".3", 32),
        number(".2", 1_000_000_000),
        number(".2", -3),
        number(".2", 2.5),
        lambda arrays, _: arrays.update({"3.1.2": mx.zeros((1, 2, 256, 2))}),
        lambda arrays, _: arrays.update({"3.0.0": arrays["3.0.0"].astype(mx.float32)}),
        lambda arrays, _: arrays.update({"0.0.0": mx.zeros((1, 3, 511))}),
        lambda arrays, metadata: [arrays.pop(k) for k in list(arrays) if k.startswith("3.1")],
        lambda _, metadata: metadata.update({"1.3": "make_prompt_cache"}),
    ],
)
def test_a_quantised_cache_that_no_model_wrote_is_refused(tmp_path, bundled, change):
    tokens = bundled.tokenizer.encode("def push(self, item):\n    return item\n")
    path = saved(tmp_path, bundled, tokens[:-2], kv=KvQuantisation(bits=4))
    with pytest.raises(PromptCacheError, match=r"t\.safetensors (does not fit|cannot be read)"):
        loaded(tampered(path, "t.safetensors", change), bundled)


@pytest.mark.parametrize("model_type", ["llama", "gemma3", "deepseek_v32", "llama4"])
def test_places_outside_a_caches_buffers_are_refused(tmp_path, model_type):
    target = tiny_target(model_type)
    path = saved(tmp_path, target)
    for value in (1_000_000_000, -3):
        with pytest.raises(PromptCacheError, match=r"does not fit|cannot be read"):
            loaded(tampered(path, "t.safetensors", number("2", value)), target)


def test_a_name_that_asks_for_an_endless_list_is_refused(tmp_path):
    target = tiny_target("llama")
    path = saved(tmp_path, target)
    for change in (
        lambda _, metadata: metadata.update({"1.99999999999": "KVCache"}),
        lambda arrays, _: arrays.update({"0.99999999999": mx.zeros(1)}),
    ):
        with pytest.raises(PromptCacheError, match="its names count further than it holds"):
            loaded(tampered(path, "t.safetensors", change), target)


def test_how_keys_and_values_are_quantised_is_in_the_file(tmp_path, bundled):
    tokens = bundled.tokenizer.encode("def push(self, item):\n    return item\n")
    for name, kv in (("a", KvQuantisation(bits=4, group_size=32)), ("b", KvQuantisation(bits=8)), ("c", None)):
        path = saved(tmp_path, bundled, tokens, f"{name}.safetensors", kv)
        assert open_prompt(path, bundled).kv == kv


def test_other_tensors_are_no_prompt_cache(tmp_path):
    path = tmp_path / "p.safetensors"
    mx.save_safetensors(str(path), {"a": mx.zeros(3)})
    with pytest.raises(PromptCacheError, match="cannot be read as a prompt cache"):
        loaded(path, tiny_target("llama"))


def test_a_file_that_is_not_there_or_may_not_be_overwritten_is_a_sentence(tmp_path):
    target = tiny_target("llama")
    with pytest.raises(PromptCacheError, match="There is no prompt cache none"):
        loaded(tmp_path / "none.safetensors", target)
    path = saved(tmp_path, target)
    with pytest.raises(PromptCacheError, match="exists already"):
        save_prompt(path, target, PROMPT, new_cache(target))
    with pytest.raises(PromptCacheError, match="cannot be written"):
        saved(tmp_path / "no" / "folder", target)
