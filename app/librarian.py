"""Does what is asked for with sessions of the library, and takes it back."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ..engine.errors import SpecviewError
from ..layouts import figures
from ..layouts.library import size_text
from ..layouts.library_deeds import Annotate, Delete, Rename, Undo, Words
from ..profilers.record.library.disk import DISK, Disk, LibraryError, failure
from ..profilers.record.library.entries import read_entry
from ..profilers.record.library.names import session_name
from ..profilers.record.library.trash import delete, undelete
from ..profilers.record.library.writing import rename, write_note


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a deed, in a sentence; `well` where it was done, `moved` which paths are others now."""

    well: bool
    sentence: str
    moved: tuple[tuple[Path, Path], ...] = ()
    back: tuple[Path, ...] = ()


@dataclass(frozen=True, slots=True)
class Removed:
    """A deletion that can be undone."""

    stamp: str


Change = Rename | Annotate | Delete | Undo


class Librarian:
    """Changes one library, one deed after another. It may be called in any thread, and touches no widget."""

    def __init__(self, folder: Path, clock_ns: Callable[[], int] = time.time_ns, disk: Disk = DISK) -> None:
        self._folder, self._clock_ns, self._disk = folder, clock_ns, disk
        self._backwards: list[Rename | Annotate | Removed] = []
        self._one_at_a_time = threading.Lock()

    def do(self, deed: Change) -> Outcome:
        """Do it; whatever goes wrong is told in the outcome's sentence."""
        with self._one_at_a_time:
            try:
                if isinstance(deed, Delete):
                    return self._delete(deed)
                if isinstance(deed, Undo):
                    return self._undo()
                outcome, back = self._change(deed)
            except SpecviewError as error:
                return Outcome(False, str(error))
            except OSError as error:
                return Outcome(False, str(failure("Nothing was changed", error)))
            if back is not None:
                self._backwards.append(back)
            return outcome

    def _delete(self, deed: Delete) -> Outcome:
        done = delete(self._folder, deed.paths, self._clock_ns(), self._disk)
        self._backwards.append(Removed(done.stamp))
        what = done.names[0] if len(done.names) == 1 else figures.count(len(done.names), "session")
        told = f"{what} is" if len(done.names) == 1 else f"{what} are"
        sentence = f"{told} in the trash ({size_text(done.size_bytes)}); z brings back what was deleted."
        return Outcome(not done.problems, " ".join((sentence, *done.problems)))

    def _undo(self) -> Outcome:
        """Take back the last deed of this app, and after those what any terminal has deleted."""
        if not self._backwards:
            return self._bring_back(None)
        back = self._backwards[-1]
        if isinstance(back, Removed):
            self._backwards.pop()
            return self._bring_back(back.stamp)
        outcome, _ = self._change(back)
        self._backwards.pop()
        return Outcome(outcome.well, f"Taken back: {outcome.sentence[:1].lower()}{outcome.sentence[1:]}", outcome.moved)

    def _bring_back(self, stamp: str | None) -> Outcome:
        try:
            done = undelete(self._folder, stamp, self._disk)
        except LibraryError as error:
            return Outcome(False, str(error))
        names = ", ".join(session_name(path) for path in done.paths[:3])
        more = f" and {len(done.paths) - 3} more" if len(done.paths) > 3 else ""
        sentence = f"{names}{more} {'is' if len(done.paths) == 1 else 'are'} back."
        return Outcome(not done.problems, " ".join((sentence, *done.problems)), back=done.paths)

    def _change(self, deed: Rename | Annotate) -> tuple[Outcome, Rename | Annotate | None]:
        if isinstance(deed, Rename):
            old = session_name(deed.path)
            path = rename(deed.path, deed.name, self._disk)
            if path == deed.path:
                return Outcome(True, f"It is called {old} already."), None
            sentence = f"Renamed {old} to {session_name(path)}."
            return Outcome(True, sentence, ((deed.path, path),)), Rename(path, old)
        before: list[Words] = []
        try:
            for words in deed.words:
                known = self._words(words.path)
                if (known.note, known.tags) != (words.note, words.tags):
                    write_note(words.path, words.note, words.tags, self._clock_ns(), self._disk)
                    before.append(known)
        except LibraryError:
            if before:  # what was written of it can be taken back
                self._backwards.append(Annotate(tuple(before)))
            raise
        if not before:
            return Outcome(True, "That is written there already."), None
        what = session_name(before[0].path) if len(before) == 1 else figures.count(len(before), "session")
        return Outcome(True, f"Written into {what}."), Annotate(tuple(before))

    def _words(self, path: Path) -> Words:
        try:
            entry = read_entry(path)
        except OSError:
            return Words(path, "", ())  # whoever writes the note says what is wrong with the file
        return Words(path, entry.note, entry.tags)
