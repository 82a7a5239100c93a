"""`specview list`: the saved sessions as a table or as JSON, found by words and tags, sorted."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from .. import __version__
from ..layouts.library import EMPTY, SORTS, LibraryAsk, LibraryFacts, chosen_entries, storage_words
from ..layouts.library_list import library_object, listed
from ..layouts.tables import table_lines
from ..profilers.record.codec import safe_text
from ..profilers.record.library.disk import LibraryError
from ..profilers.record.library.entries import Entry
from ..profilers.record.library.index import Library, read_library
from .library_verdicts import VerdictCache, is_reckonable
from .terminal import is_terminal

WIDE = 1000  # where nobody looks, nothing is cut


def add_list(parser: argparse.ArgumentParser) -> None:
    """The options of `specview list`."""
    add = parser.add_argument
    add("words", nargs="*", metavar="TEXT", help="only sessions with these words in name, model, drafter, tags or note")
    add("--tag", action="append", default=[], metavar="T", help="only sessions with this tag; may be given again")
    add("--sort", choices=SORTS, default="when", help="by what (default when: the newest first)")
    add("--reverse", action="store_true", help="the other way round")
    add("--verdicts", action="store_true", help="reckon verdicts that are not known yet, which takes a while")
    add("--json", action="store_true", help="one JSON object")


def list_sessions(options: argparse.Namespace, folder: Path, cache_path: Path | None) -> int:
    """Print the library; 1 where the folder cannot be read."""
    library = read_library(folder)
    if library.trouble:
        raise LibraryError(library.trouble)
    cache = VerdictCache(cache_path, __version__)
    ask = LibraryAsk(sort=options.sort, backwards=options.reverse, needle=" ".join(options.words))
    entries = _chosen(library, cache, ask, options.tag)
    if options.verdicts:
        for entry in entries:
            if is_reckonable(entry) and cache.of(entry) is None:
                cache.reckon(entry)
        entries = _chosen(library, cache, ask, options.tag)
    verdicts = cache.by_path(entries)
    if options.json:
        print(json.dumps(library_object(library, entries, verdicts)))
        return 0
    console = Console(highlight=False, markup=False, soft_wrap=True)
    if not library.entries:
        console.print(EMPTY.replace("press r to record one here, or run specview record", "specview record makes one"))
        return 0
    if entries:
        width = console.width if is_terminal(sys.stdout) else WIDE
        for spans in table_lines(listed(entries, verdicts, time.time_ns()), width):
            console.print("".join(span.text for span in spans).rstrip())
    else:
        console.print("No saved session has these words and tags.")
    shown = "" if len(entries) == len(library.entries) else f"{len(entries)} of "
    console.print(f"{shown}{storage_words(library)}")
    return 0


def _chosen(library: Library, cache: VerdictCache, ask: LibraryAsk, tags: Sequence[str]) -> tuple[Entry, ...]:
    facts = LibraryFacts(library, cache.by_path(library.entries))
    wanted = {safe_text(tag).lstrip("#") for tag in tags}
    return tuple(entry for entry in chosen_entries(facts, ask) if wanted <= set(entry.tags))
