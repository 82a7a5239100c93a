"""Trains the bundled model: a small Qwen3-Next hybrid with an MTP head, on CPU, seeded and resumable.

    python train.py CORPUS_DIR RUN_DIR --minutes 90 [--processes 2]

One single-threaded process per core; gradients are averaged with gloo. Time
spent stopped does not count, so the processes may be paused with SIGSTOP.
RUN_DIR receives tokenizer.json, state.pt (to resume from), log.jsonl and
checkpoint/ (Hugging Face layout, MTP tensors under `mtp.*`) for export.py.
Needs torch (CPU), transformers, tokenizers, safetensors, numpy; see README.md.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import time
from pathlib import Path

import numpy as np
import torch
import torch.distributed as dist
from safetensors.torch import save_file
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from torch import Tensor, nn
from torch.nn.functional import cross_entropy
from transformers import Qwen3NextConfig, Qwen3NextForCausalLM
from transformers.models.qwen3_next.modeling_qwen3_next import (
    Qwen3NextDecoderLayer,
    Qwen3NextRMSNorm,
)

KINDS = ("english", "chinese", "code")
VOCABULARY, HIDDEN = 4096, 256
BATCH, LENGTH = 16, 256  # sequences of one process, tokens of each
PEAK_RATE, WARM_UP, CLIP = 1.5e-3, 150, 0.7
MTP_WEIGHT, SECOND_MTP_WEIGHT, SECOND_MTP_FROM = 0.3, 0.15, 0.6
LONGEST_STEP_S = 30.0  # a longer one was a pause


def model_config() -> Qwen3NextConfig:
    """8 layers (6 gated delta, 2 full attention), 8 experts top-2 with a shared one; widths are multiples of 64."""
    return Qwen3NextConfig(
        vocab_size=VOCABULARY,
        hidden_size=HIDDEN,
        intermediate_size=512,
        num_hidden_layers=8,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=64,
        linear_num_value_heads=4,
        linear_num_key_heads=2,
        linear_key_head_dim=64,
        linear_value_head_dim=64,
        linear_conv_kernel_dim=4,
        num_experts=8,
        num_experts_per_tok=2,
        decoder_sparse_step=1,
        shared_expert_intermediate_size=128,
        moe_intermediate_size=128,
        norm_topk_prob=True,
        tie_word_embeddings=True,
        full_attention_interval=4,
        max_position_embeddings=2048,
        partial_rotary_factor=0.25,
        rope_theta=10000.0,
        bos_token_id=0,
        eos_token_id=0,
        pad_token_id=0,
    )


class MtpHead(nn.Module):
    """Qwen3-Next's multi-token prediction head: it guesses token t+2 from hidden state t and token t+1."""

    def __init__(self, config: Qwen3NextConfig) -> None:
        super().__init__()
        self.pre_fc_norm_hidden = Qwen3NextRMSNorm(config.hidden_size)
        self.pre_fc_norm_embedding = Qwen3NextRMSNorm(config.hidden_size)
        self.fc = nn.Linear(2 * config.hidden_size, config.hidden_size, bias=False)
        full_attention = config.layer_types.index("full_attention")
        self.layers = nn.ModuleList([Qwen3NextDecoderLayer(config, full_attention)])
        self.norm = Qwen3NextRMSNorm(config.hidden_size)

    def forward(self, hidden: Tensor, embedding: Tensor, rotary: nn.Module) -> Tensor:
        x = self.fc(torch.cat([self.pre_fc_norm_embedding(embedding), self.pre_fc_norm_hidden(hidden)], -1))
        positions = torch.arange(x.shape[1])[None]
        x = self.layers[0](x, position_embeddings=rotary(x, positions), attention_mask=None)
        return self.norm(x[0] if isinstance(x, tuple) else x)


class Hybrid(nn.Module):
    """The language model and its MTP head, sharing embedding and output head."""

    def __init__(self) -> None:
        super().__init__()
        config = model_config()
        self.base = Qwen3NextForCausalLM(config)
        self.mtp = MtpHead(config)

    def logits(self, ids: Tensor, depth: int) -> list[Tensor]:
        """Logits of the main head over ids[:, :-1], then of the MTP head applied once and twice."""
        inner = self.base.model
        hidden = inner(ids[:, :-1]).last_hidden_state
        outputs = [hidden]
        for d in range(1, depth + 1):
            tokens = inner.embed_tokens(ids[:, d:-1])
            outputs.append(self.mtp(outputs[-1][:, :-1], tokens, inner.rotary_emb))
        return [out @ self.base.lm_head.weight.T for out in outputs]


def losses(logits: list[Tensor], ids: Tensor) -> list[Tensor]:
    """Cross entropy of each head in nats per token; head d is compared with the token d+1 ahead."""
    return [
        cross_entropy(lg.reshape(-1, VOCABULARY).float(), ids[:, d + 1 :].reshape(-1)) for d, lg in enumerate(logits)
    ]


def tokenizer_from(corpus: Path, target: Path) -> Tokenizer:
    """Byte-level BPE trained on equal shares of the three kinds; read back when it exists."""
    if not target.exists():
        tokenizer = Tokenizer(models.BPE())
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        tokenizer.decoder = decoders.ByteLevel()
        share = min((corpus / f"{k}.txt").stat().st_size for k in KINDS)
        texts = ((corpus / f"{k}.txt").read_bytes()[:share].decode("utf8", "ignore") for k in KINDS)
        trainer = trainers.BpeTrainer(
            vocab_size=VOCABULARY,
            special_tokens=["<|endoftext|>"],
            initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
            show_progress=False,
        )
        lines = (line for text in texts for line in text.splitlines(keepends=True))
        tokenizer.train_from_iterator(lines, trainer)
        tokenizer.save(str(target))
    return Tokenizer.from_file(str(target))


def token_ids(tokenizer: Tokenizer, source: Path, target: Path) -> np.ndarray:
    """int32 token ids of a text file, cached in `target`."""
    if not target.exists():
        text = source.read_text(encoding="utf8", errors="ignore")
        pieces = [text[i : i + 200_000] for i in range(0, len(text), 200_000)]
        ids = np.concatenate([np.array(tokenizer.encode(p).ids, np.int32) for p in pieces])
        np.save(target, ids)
    return np.load(target)


def batch(streams: list[np.ndarray], random: np.random.Generator) -> Tensor:
    """[BATCH, LENGTH + 1] token ids, the kinds in turn."""
    rows = []
    for row in range(BATCH):
        stream = streams[row % len(streams)]
        start = int(random.integers(0, len(stream) - LENGTH - 1))
        rows.append(stream[start : start + LENGTH + 1])
    return torch.from_numpy(np.stack(rows).astype(np.int64))


@torch.no_grad()
def held_out_figures(model: Hybrid, streams: dict[str, np.ndarray]) -> dict[str, list[float]]:
    """Per kind: loss in nats per token, and the share of places where the MTP guess equals the main head's choice."""
    model.eval()
    figures = {}
    for kind, stream in streams.items():
        ids = torch.from_numpy(stream[: 16 * (LENGTH + 1)].reshape(16, -1).astype(np.int64))
        main, guess = model.logits(ids, depth=1)
        agree = (main[:, 1:].argmax(-1) == guess.argmax(-1)).float().mean().item()
        figures[kind] = [round(losses([main], ids)[0].item(), 3), round(agree, 3)]
    model.train()
    return figures


def save_checkpoint(model: Hybrid, folder: Path) -> None:
    """Hugging Face layout: the language model as transformers writes it, MTP tensors beside it."""
    model.base.save_pretrained(folder)
    tensors = {f"mtp.{name}": t.detach().clone().contiguous() for name, t in model.mtp.state_dict().items()}
    save_file(tensors, folder / "mtp.safetensors")


def averaged(parameters: list[nn.Parameter], processes: int) -> None:
    """Replace every gradient by its mean over the processes."""
    if processes == 1:
        return
    flat = torch.cat([p.grad.reshape(-1) for p in parameters if p.grad is not None])
    dist.all_reduce(flat)
    flat /= processes
    at = 0
    for p in parameters:
        if p.grad is not None:
            p.grad.copy_(flat[at : at + p.numel()].view_as(p))
            at += p.numel()


def train(rank: int, processes: int, corpus: Path, run: Path, minutes: float) -> None:
    """One process of the training; rank 0 writes the log and the checkpoints."""
    torch.set_num_threads(1)
    os.nice(19)
    if processes > 1:
        rendezvous = f"file://{(run / 'rendezvous').resolve()}"
        dist.init_process_group("gloo", init_method=rendezvous, rank=rank, world_size=processes)
    tokenizer = tokenizer_from(corpus, run / "tokenizer.json")
    streams = [token_ids(tokenizer, corpus / f"{k}.txt", run / f"{k}.npy") for k in KINDS]
    held_out = {k: token_ids(tokenizer, corpus / "heldout" / f"{k}.txt", run / f"heldout-{k}.npy") for k in KINDS}
    torch.manual_seed(0)
    model = Hybrid()
    parameters = list(model.parameters())
    matrices = [p for p in parameters if p.ndim >= 2]
    others = [p for p in parameters if p.ndim < 2]
    groups = [{"params": matrices, "weight_decay": 0.1}, {"params": others, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, PEAK_RATE, betas=(0.9, 0.95))
    step, spent, saved, logged = 0, 0.0, 0.0, -60.0
    if (run / "state.pt").exists():
        state = torch.load(run / "state.pt", weights_only=True)
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        step, spent = state["step"], state["spent"]
        saved = logged = spent
    random = np.random.default_rng([rank, step])
    while spent < minutes * 60:
        began = time.monotonic()
        progress = spent / (minutes * 60)
        rate = PEAK_RATE * min(1, (step + 1) / WARM_UP) * (0.025 + 0.975 * (1 + math.cos(math.pi * progress)) / 2)
        for group in optimizer.param_groups:
            group["lr"] = rate
        depth = 2 if progress > SECOND_MTP_FROM else 1
        ids = batch(streams, random)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            parts = losses(model.logits(ids, depth), ids)
        weights = (1.0, MTP_WEIGHT, SECOND_MTP_WEIGHT)
        sum(w * part for w, part in zip(weights, parts, strict=False)).backward()
        averaged(parameters, processes)
        if torch.isfinite(nn.utils.clip_grad_norm_(parameters, CLIP)):
            optimizer.step()
            step += 1
        optimizer.zero_grad(set_to_none=True)
        seconds = torch.tensor(min(time.monotonic() - began, LONGEST_STEP_S), dtype=torch.float64)
        if processes > 1:
            dist.broadcast(seconds, 0)
        spent += seconds.item()
        done = spent >= minutes * 60
        if rank == 0 and (done or spent - logged > 180):
            logged = spent
            line = {
                "minutes": round(spent / 60, 1),
                "step": step,
                "million_tokens": round(step * BATCH * LENGTH * processes / 1e6, 2),
                "train": [round(p.item(), 3) for p in parts],
                "held_out": held_out_figures(model, held_out),
            }
            with (run / "log.jsonl").open("a") as log:
                log.write(json.dumps(line) + "\n")
        if rank == 0 and (done or spent - saved > 480):
            saved = spent
            save_checkpoint(model, run / "checkpoint")
            state = {"model": model.state_dict(), "optimizer": optimizer.state_dict()}
            torch.save({**state, "step": step, "spent": spent}, run / "state.new")
            (run / "state.new").rename(run / "state.pt")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("run", type=Path)
    parser.add_argument("--minutes", type=float, default=90)
    parser.add_argument("--processes", type=int, default=2)
    options = parser.parse_args()
    options.run.mkdir(parents=True, exist_ok=True)
    (options.run / "rendezvous").unlink(missing_ok=True)
    tokenizer = tokenizer_from(options.corpus, options.run / "tokenizer.json")
    for kind in KINDS:
        token_ids(tokenizer, options.corpus / f"{kind}.txt", options.run / f"{kind}.npy")
    arguments = (options.processes, options.corpus, options.run, options.minutes)
    if options.processes == 1:
        train(0, *arguments)
    else:
        torch.multiprocessing.spawn(train, arguments, nprocs=options.processes)


if __name__ == "__main__":
    main()
