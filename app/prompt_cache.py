"""Reading a long prompt once from the command line: a prompt cache that recordings and mlx-lm go on from."""

from __future__ import annotations

import argparse
import shlex
import sys
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from ..engine.errors import SpecviewError
from ..engine.paths import local_path
from ..layouts.figures import count
from ..profilers.measure.load import LoadMeter
from ..profilers.record.prompts import load_prompts
from .recording import no_backend
from .settings import shown_path

_FLAGS = {"--no-chat": "no_chat", "--trust-remote-code": "trust_remote_code"}  # those a recording must repeat


class CachePromptError(SpecviewError):
    """A prompt that cannot be cached."""


def add_cache_prompt(command: argparse.ArgumentParser) -> None:
    """The options of `specview cache-prompt`."""
    add = command.add_argument
    add("--model", default="bundled", help="bundled, a folder that mlx_lm wrote, or a hub id")
    add("--prompt", required=True, metavar="FILE", help="a text file, or - for stdin")
    add("--out", type=Path, required=True, metavar="FILE", help="the .safetensors file to write")
    add("--system", metavar="TEXT", help="a system message before the prompt")
    add("--dtype", choices=("float32", "float16", "bfloat16"), help="cast the weights, dequantising them")
    add("--kv-bits", type=int, help="keep keys and values in so many bits")
    add("--no-chat", action="store_true", help="do not wrap the prompt in the model's chat template")
    add("--trust-remote-code", action="store_true", help="let a model run code of its own")


def cache_prompt(options: argparse.Namespace) -> int:
    """Read the prompt, write its cache, and print how to go on; returns the exit status."""
    try:
        from ..profilers.record.prompt_beginning import Wish, make_prompt_cache_file
    except ImportError as error:
        raise no_backend(error) from error

    wish = Wish(
        model=options.model,
        text=_text(options.prompt),
        dtype=options.dtype,
        kv_bits=options.kv_bits,
        system=options.system,
        chat=not options.no_chat,
        trust_remote_code=options.trust_remote_code,
    )
    console = Console(highlight=False, markup=False, soft_wrap=True)
    with Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TextColumn("{task.completed:,} of {task.total:,} positions"),
        TimeElapsedColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    ) as bar:
        task = bar.add_task("loading", total=0)
        made = make_prompt_cache_file(
            wish,
            options.out,
            lambda what: bar.update(task, description=f"loading {what}"),
            lambda read, total: bar.update(task, description="reading", completed=read, total=total),
            LoadMeter().sample().memory_available_bytes,
        )
    console.print(
        f"{made.model} has read {count(made.positions, 'position')}; their cache takes {made.file_bytes / 1e6:.1f} MB."
    )
    console.print(f"Saved: {shown_path(options.out)}")
    named = "" if options.model == "bundled" else f" --model {shlex.quote(options.model)}"
    cast = "" if options.dtype is None else f" --dtype {options.dtype}"
    more = "".join(f" {flag}" for flag, on in _FLAGS.items() if getattr(options, on))
    wanted = f"{named}{cast}{more} --prompt-cache {shlex.quote(shown_path(options.out))}"
    console.print(f"Go on from it: specview record{wanted}")
    return 0


def _text(wish: str) -> str:
    """The one text of a file, or of stdin."""
    if wish != "-" and not local_path(wish).is_file():
        raise CachePromptError(f"There is no file {wish!r}: name a text file, or - for stdin.")
    prompts = load_prompts(wish, sys.stdin)
    if len(prompts) != 1:
        raise CachePromptError(
            f"{local_path(wish).name} holds {count(len(prompts), 'prompt')}, and a cache begins with one."
        )
    return prompts[0].text
