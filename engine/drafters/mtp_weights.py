"""Finds MTP weights in a checkpoint folder and brings them into the form that mlx-lm's layers have.

mlx-lm drops these weights when it loads or converts a model, so they are read
from the folder again: from the model's own files, or from an MTP file shipped
beside them (`mtp.safetensors`, `mtp-*.safetensors`, `model-mtp*.safetensors`),
which goes first where there is one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import mlx.core as mx

from ..errors import SpecviewError
from ..mtp_names import Layout, mtp_names

Tensors = dict[str, mx.array]
LONGEST_NAME = 80  # characters of a tensor's name in a sentence


class MtpError(SpecviewError):
    """No MTP head that can be used."""


@dataclass(frozen=True, slots=True)
class StoredHeads:
    """MTP tensors as stored, one mapping per head, names within the head."""

    layout: Layout
    heads: tuple[Tensors, ...]


_MTP_FILE = re.compile(r"(?:^|[-_.])(?:mtp|nextn)(?:[-_.]|$)")
_BARE_MARKS = frozenset({"fc.weight", "pre_fc_norm_hidden.weight"})
_UNUSED = (".inv_freq", ".k_scale", ".v_scale", ".input_scale")


def _read(file: Path) -> Tensors:
    try:
        return cast("Tensors", mx.load(str(file)))
    except (RuntimeError, OSError, ValueError) as error:
        raise MtpError(f"{file.name} of {file.parent.name} cannot be read: fetch the model again.") from error


def stored_heads(folder: Path, config: dict[str, Any], name: str) -> StoredHeads | None:
    """The MTP tensors in the safetensors of a model folder, lazily loaded; None when there are none.

    `config` is the model's config.json and `name` what messages call it.
    Raises MtpError for a file that cannot be read, for two layouts in one
    folder and for heads with a gap between them.
    """
    own: Tensors = {}
    beside: Tensors = {}
    for file in sorted(folder.glob("*.safetensors")):
        tensors = _read(file)
        is_mtp_file = _MTP_FILE.search(file.stem) is not None
        if is_mtp_file and tensors.keys() >= _BARE_MARKS:  # a drafter's own file leaves the prefix out
            tensors = {f"mtp.{key}": value for key, value in tensors.items()}
        (beside if is_mtp_file else own).update(tensors)
    heads = _by_head(beside, config) or _by_head(own, config)
    if not heads:
        return None
    layouts = {layout for layout, _ in heads}
    if Layout.OTHER in layouts or len(layouts) > 1:
        return StoredHeads(Layout.OTHER, tuple(heads.values()))
    places = sorted(head for _, head in heads)
    if places != list(range(len(places))):
        raise MtpError(
            f"{name} holds MTP heads {', '.join(map(str, places))} (counted from 0) but not those between: "
            "fetch the model again."
        )
    (layout,) = layouts
    return StoredHeads(layout, tuple(heads[layout, head] for head in places))


def _by_head(tensors: Tensors, config: dict[str, Any]) -> dict[tuple[Layout, int], Tensors]:
    heads: dict[tuple[Layout, int], Tensors] = {}
    for key, said in mtp_names(tensors, config).items():
        if not said.local.endswith(_UNUSED):
            heads.setdefault((said.layout, said.head), {})[said.local] = tensors[key]
    return heads


# ------------------------------------------------------------------ formats


def dequantised_fp8(tensors: Tensors, name: str) -> Tensors:
    """Weights stored as FP8 with one scale per block of 128 × 128, in bfloat16; MtpError for other blocks.

    Source: mlx-lm's deepseek_v3.
    """
    plain = {}
    for key, value in tensors.items():
        scale = tensors.get(f"{key}_scale_inv")
        if scale is not None:
            blocks = tuple(-(-size // _BLOCK) for size in value.shape)
            if value.ndim != 2 or scale.shape != blocks:
                raise misshapen(f"{key}_scale_inv", scale.shape, blocks, name)
            value = _from_blocks(value, scale)
        if not key.endswith("_scale_inv"):
            plain[key] = value
    return plain


_BLOCK = 128


def _from_blocks(value: mx.array, scale: mx.array) -> mx.array:
    block = _BLOCK
    rows, columns = value.shape
    padded = mx.pad(mx.from_fp8(value, dtype=mx.bfloat16), [(0, -rows % block), (0, -columns % block)])
    blocks = padded.reshape(scale.shape[0], block, scale.shape[1], block) * scale[:, None, :, None]
    return blocks.reshape(padded.shape)[:rows, :columns].astype(mx.bfloat16)


# ------------------------------------------------------------------ experts

_ONE_EXPERT = re.compile(r"(.*)\bexperts\.([0-9]{1,9})\.(gate_proj|up_proj|down_proj)\.(\w+)")
_ALL_EXPERTS = re.compile(r"(.*)\bexperts\.(gate_up_proj|gate_proj|up_proj|down_proj)(?:\.(weight|scales|biases))?")


def with_stacked_experts(tensors: Tensors, name: str) -> Tensors:
    """Experts as mlx-lm's `switch_mlp` has them, from one tensor per expert or from fused `gate_up_proj`.

    Raises MtpError when an expert is missing or unlike the others.
    """
    stacked: Tensors = {}
    single: dict[str, dict[int, mx.array]] = {}
    for key, value in tensors.items():
        if match := _ONE_EXPERT.fullmatch(key):
            stem, expert, projection, kind = match.groups()
            single.setdefault(f"{stem}switch_mlp.{projection}.{kind}", {})[int(expert)] = value
        elif match := _ALL_EXPERTS.fullmatch(key):
            stem, projection, kind = match[1], match[2], match[3] or "weight"
            if projection == "gate_up_proj":
                half = value.shape[-2] // 2
                stacked[f"{stem}switch_mlp.gate_proj.{kind}"] = value[..., :half, :]
                stacked[f"{stem}switch_mlp.up_proj.{kind}"] = value[..., half:, :]
            else:
                stacked[f"{stem}switch_mlp.{projection}.{kind}"] = value
        else:
            stacked[key] = value
    for key, experts in single.items():
        shapes = {value.shape for value in experts.values()}
        if sorted(experts) != list(range(len(experts))) or len(shapes) > 1:
            raise MtpError(
                f"The experts of {name}'s MTP head are not complete ({key.replace('switch_mlp', 'experts.N')}): "
                "fetch the model again."
            )
        stacked[key] = mx.stack([experts[i] for i in range(len(experts))])
    return stacked


# ---------------------------------------------------------------- attention


def with_split_kv_b(tensors: Tensors, heads: int, nope: int, rank: int, name: str) -> Tensors:
    """MLA's `kv_b_proj` split into mlx-lm's `embed_q` and `unembed_out`, and quantised again as it was.

    `heads` attention heads of `nope` unrotated channels each, over a latent of
    `rank` channels. Source: mlx-lm's deepseek_v3. Raises MtpError for a shape
    that cannot be split so.
    """
    split = dict(tensors)
    for key in [key for key in tensors if key.endswith("kv_b_proj.weight")]:
        stem = key.removesuffix("kv_b_proj.weight")
        weight, scales = split.pop(key), split.pop(f"{stem}kv_b_proj.scales", None)
        biases = split.pop(f"{stem}kv_b_proj.biases", None)
        packing = None
        if scales is not None:
            packing = packing_of(weight, scales, rank, f"{stem}kv_b_proj", name)
            weight = mx.dequantize(weight, scales, biases, **packing)
        if weight.shape[-1] != rank or weight.shape[0] % heads or weight.shape[0] // heads <= nope:
            raise misshapen(key, weight.shape, f"({heads} × more than {nope}, {rank})", name)
        by_head = weight.reshape(heads, -1, rank)
        for part, value in (
            ("embed_q", by_head[:, :nope].swapaxes(-1, -2)),
            ("unembed_out", by_head[:, nope:]),
        ):
            value = mx.contiguous(value)
            if packing is None:
                split[f"{stem}{part}.weight"] = value
            else:
                packed = mx.quantize(value, **packing)
                for kind, array in zip(("weight", "scales", "biases"), packed, strict=False):
                    split[f"{stem}{part}.{kind}"] = array
    return split


# -------------------------------------------------------------------- norms

_RAW_EXPERTS = re.compile(r"\bexperts\.(?:\d+\.|gate_up_proj$)")
_INPUT_NORMS = ("pre_fc_norm_embedding.weight", "pre_fc_norm_hidden.weight", "enorm.weight", "hnorm.weight")
_LAYER = ("layers.", "block.")
_BETWEEN = 0.5  # zero-centred norms average near 0 as trained, and near 1 once the 1 is added


def with_ones_added(tensors: Tensors, stored: Tensors) -> Tensors:
    """Zero-centred norms with the 1 they stand for added where it is not yet.

    The model's own files do not tell: heads of raw checkpoints are shipped
    beside converted models, and converters have kept heads raw. Experts in the
    raw layout (`stored`) mean raw norms. Otherwise the values tell: no norm is
    negative on average once the 1 is added, and those of the decoder layer
    say by majority which they are. The two norms before the projection damp
    what they take (0.49 and 0.27 in Qwen3.6-35B-A3B with the 1, −0.44 in 27B
    without) and the last one amplifies (2.9), so these follow the layer
    wherever their own average leaves it open.
    Sources: omlx pull requests 1507 and 3750, vllm-mlx pull request 400.
    """
    averages = {
        name: float(cast("float", value.astype(mx.float32).mean().item()))
        for name, value in tensors.items()
        if value.ndim == 1 and name.endswith(("norm.weight", *_INPUT_NORMS))
    }
    layer = [average for name, average in averages.items() if name.startswith(_LAYER)]
    raw_file = any(_RAW_EXPERTS.search(name) for name in stored)
    layer_is_raw = any(average < 0 for average in layer) or 2 * sum(a < _BETWEEN for a in layer) > len(layer)

    def is_raw(name: str) -> bool:
        damped = name.endswith(_INPUT_NORMS) and averages[name] >= _BETWEEN
        return raw_file or averages[name] < 0 or (layer_is_raw and not damped)

    return {name: value + 1.0 if name in averages and is_raw(name) else value for name, value in tensors.items()}


# -------------------------------------------------------------------- names

_OUTSIDE_BLOCK = {
    Layout.NEXT_LAYERS: ("enorm.", "hnorm.", "eh_proj.", "shared_head.", "embed_tokens."),
    Layout.MTP_LAYERS: ("token_layernorm.", "hidden_layernorm.", "input_proj.", "final_layernorm."),
}
_OTHER_NAMES = (  # Step-3.5's own, and its experts as mlx-lm names them
    ("transformer.shared_head.output.", "shared_head.head."),
    ("transformer.shared_head.", "shared_head."),
    ("shared_head.output.", "shared_head.head."),
    ("mtp_block.", ""),
)


def renamed(tensors: Tensors, layout: Layout) -> Tensors:
    """Names as the modules of `mtp_heads` have them: what belongs to the decoder layer goes under `block.`."""
    if layout is Layout.PREFIXED:
        return dict(tensors)
    named = {}
    for name, value in tensors.items():
        for old, new in _OTHER_NAMES:
            if name.startswith(old):
                name = new + name.removeprefix(old)
                break
        named[name if name.startswith(_OUTSIDE_BLOCK[layout]) else f"block.{name}"] = value
    return named


# ------------------------------------------------------------- quantisation


def misshapen(weight: str, shape: Sequence[int], asked: object, name: str) -> MtpError:
    """The sentence for a weight whose shape is not what its config asks for."""
    return MtpError(
        f"{weight[:LONGEST_NAME]} of {name}'s MTP head has shape {tuple(shape)} where its config asks for {asked}: "
        "fetch the model again."
    )


def packing_of(weight: mx.array, scales: mx.array, width: int, path: str, name: str) -> dict[str, Any]:
    """Group size, bits and mode that a matrix of `width` inputs was packed with; MtpError for what MLX has not.

    Only affine keeps its scales in floats, and each other mode has one pair of bits and group size.
    """
    group_size, bits = width // max(1, scales.shape[-1]), weight.shape[-1] * 32 // width
    if scales.dtype != mx.uint8:
        mode = "affine" if bits in (2, 3, 4, 5, 6, 8) and group_size in (16, 32, 64, 128) else None
    else:
        mode = {(4, 16): "nvfp4", (4, 32): "mxfp4", (8, 32): "mxfp8"}.get((bits, group_size))
    if mode is None or weight.dtype != mx.uint32:
        raise MtpError(
            f"{path} of {name}'s MTP head is quantised in a way that MLX does not know "
            f"({bits} bits in groups of {group_size}): take a checkpoint that mlx_lm.convert wrote."
        )
    return {"group_size": group_size, "bits": bits, "mode": mode}


def check_scales(tensors: Tensors, name: str) -> None:
    """Raise MtpError for a weight in whole numbers that has no scales to go with it."""
    for key, value in tensors.items():
        if key.endswith(".weight") and not mx.issubdtype(value.dtype, mx.floating):
            stem = key.removesuffix(".weight")
            if f"{stem}.scales" not in tensors:
                raise MtpError(
                    f"{stem[:LONGEST_NAME]} of {name}'s MTP head is quantised but comes without scales: fetch the "
                    "model again, or take a checkpoint whose MTP weights are complete."
                )


def quantiser(tensors: Tensors, name: str) -> Callable[[str, Any], bool | dict[str, Any]]:
    """For `nn.quantize`: which modules have packed weights here, and how they are packed."""

    def packed(path: str, module: Any) -> bool | dict[str, Any]:
        scales = tensors.get(f"{path}.scales")
        if scales is None or not hasattr(module, "to_quantized"):
            return False
        return packing_of(tensors[f"{path}.weight"], scales, module.weight.shape[-1], path, name)

    return packed
