"""Turns a training checkpoint into the bundled model: mlx-lm's layout, 8-bit affine with float32 scales.

    python export.py RUN_DIR ASSETS_MODEL_DIR        (in specview's own environment; needs mlx, mlx-lm)

Writes config.json, model.safetensors, mtp.safetensors (the MTP head under
`mtp.*`, norms with 1 added and experts stacked as mlx-lm keeps them),
tokenizer.json and tokenizer_config.json.
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import mlx.core as mx
import mlx.nn as nn
from mlx.utils import tree_flatten
from mlx_lm.models.qwen3_next import Model, ModelArgs

from specview.engine.drafters.mtp_heads import QwenHead
from specview.engine.models import Target

QUANTISATION = {"group_size": 64, "bits": 8, "mode": "affine"}
ZERO_CENTRED = (
    "input_layernorm.weight",
    "post_attention_layernorm.weight",
    "model.norm.weight",
    "q_norm.weight",
    "k_norm.weight",
    "pre_fc_norm_hidden.weight",
    "pre_fc_norm_embedding.weight",
)


def flat_config(source: dict[str, object]) -> dict[str, object]:
    """transformers' config with the fields mlx-lm reads at the top level, and nothing of the training machine."""
    rope = source.pop("rope_parameters", None) or {}
    assert isinstance(rope, dict)
    dropped = ("layer_types", "transformers_version", "dtype", "architectures", "_name_or_path", "use_cache")
    config = {k: v for k, v in source.items() if k not in dropped and not k.startswith("_")}
    config |= {
        "model_type": "qwen3_next",
        "architectures": ["Qwen3NextForCausalLM"],
        "rope_theta": rope.get("rope_theta", 10000.0),
        "partial_rotary_factor": rope.get("partial_rotary_factor", 0.25),
        "mlp_only_layers": [],
        "full_attention_interval": 4,
        "quantization": QUANTISATION,
        "quantization_config": QUANTISATION,
    }
    return config


def in_mlx_layout(name: str, value: mx.array) -> list[tuple[str, mx.array]]:
    """One tensor of the checkpoint under mlx-lm's name(s) and shape(s), in float32."""
    value = value.astype(mx.float32)
    if name.endswith("conv1d.weight"):
        return [(name, value.moveaxis(2, 1))]
    if name.endswith("experts.gate_up_proj"):
        stem, middle = name.removesuffix("experts.gate_up_proj"), value.shape[1] // 2
        return [
            (f"{stem}switch_mlp.gate_proj.weight", value[:, :middle]),
            (f"{stem}switch_mlp.up_proj.weight", value[:, middle:]),
        ]
    if name.endswith("experts.down_proj"):
        return [(name.replace("experts.down_proj", "switch_mlp.down_proj.weight"), value)]
    if name.endswith(ZERO_CENTRED) or name == "norm.weight":
        return [(name, value + 1.0)]
    return [(name, value)]


def stacked(tensors: dict[str, mx.array], experts: int) -> dict[str, mx.array]:
    """Experts that a checkpoint stores one by one, stacked."""
    for name in [n for n in tensors if ".experts.0." in n]:
        parts = [tensors.pop(name.replace(".experts.0.", f".experts.{e}.")) for e in range(experts)]
        tensors[name.replace(".experts.0.", ".switch_mlp.")] = mx.stack(parts)
    return tensors


def main() -> None:
    run, out = Path(sys.argv[1]), Path(sys.argv[2])
    out.mkdir(parents=True, exist_ok=True)
    config = flat_config(json.loads((run / "checkpoint" / "config.json").read_text()))
    experts = int(str(config["num_experts"]))
    stored = stacked(dict(mx.load(str(run / "checkpoint" / "model.safetensors"))), experts)
    heads = stacked(dict(mx.load(str(run / "checkpoint" / "mtp.safetensors"))), experts)
    stored.pop("lm_head.weight", None)

    model = Model(ModelArgs.from_dict(config))
    model.load_weights([pair for k, v in stored.items() for pair in in_mlx_layout(k, v)])
    target = Target("export", "export", out, model, None, config)
    head = QwenHead(target)
    head.load_weights([pair for k, v in heads.items() for pair in in_mlx_layout(k.removeprefix("mtp."), v)])
    for module in (model, head):
        nn.quantize(module, group_size=64, bits=8, class_predicate=quantised)

    mx.save_safetensors(str(out / "model.safetensors"), dict(tree_flatten(model.parameters())), {"format": "mlx"})
    tensors = {f"mtp.{k}": v for k, v in tree_flatten(head.parameters())}
    mx.save_safetensors(str(out / "mtp.safetensors"), tensors, {"format": "mlx"})
    (out / "config.json").write_text(json.dumps(config, indent=2, sort_keys=True) + "\n")
    shutil.copy(run / "tokenizer.json", out / "tokenizer.json")
    tokenizer = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "bos_token": "<|endoftext|>",
        "eos_token": "<|endoftext|>",
        "clean_up_tokenization_spaces": False,
        "model_max_length": 2048,
    }
    (out / "tokenizer_config.json").write_text(json.dumps(tokenizer, indent=2) + "\n")
    total = sum(p.stat().st_size for p in out.iterdir())
    print(f"{out}: {total / 1e6:.1f} MB")


def quantised(path: str, module: nn.Module) -> bool:
    """Matrices are quantised; the router and the small gates, whose errors choose experts, stay float32."""
    return hasattr(module, "to_quantized") and not path.endswith(("mlp.gate", "shared_expert_gate", "in_proj_ba"))


if __name__ == "__main__":
    main()
