"""The words of the Sessions screen: its keys on the frame, what its line asks for, and its help."""

from __future__ import annotations

from ..profilers.record.library.index import Library
from .explanations import Explanation
from .library import LibraryAsk, storage_words

KEYS = (
    "enter opens · / finds · S sorts · space marks · c compares · N note · T tags · R rename · D delete · z undo",
    "enter opens · / finds · S sorts · space marks · N T R D z",
    "enter · / · S · space · N T R D z",
)
ASKING_KEYS = {
    "find": "enter keeps these · esc shows all",
    "rename": "enter renames · esc leaves it as it is",
    "note": "enter writes it · esc leaves it as it is",
    "tags": "enter writes them · esc leaves them as they are",
}
PLACEHOLDERS = {
    "find": "words in name, model, drafter, tags, note; or a file's path, enter",
    "rename": "the new name",
    "note": "what should be remembered of it; empty takes the note away",
    "tags": "words with blanks between; empty takes the tags away",
}


def sessions_explanation(library: Library, ask: LibraryAsk) -> Explanation:
    """What is listed, how it is kept, and what it takes."""
    return Explanation(
        "Sessions",
        (
            "Every recording, survey, import and attached server is saved from its first record on; nothing has to "
            "be saved by hand. ● is being recorded, here or by another terminal, and stays at the top; ◇ finished, "
            "■ stopped, ◌ interrupted (it opens all the same), ▲ failed or cannot be opened.",
            "Notes and tags are appended to the session's own file and travel with it; earlier ones stay in the "
            "file. Deleting moves a session into the folder .trash beside the others; z brings it back, also "
            "from another terminal. specview rm --purge empties of the trash what is older than 30 days.",
            "A verdict is reckoned when its session comes into sight, one at a time, and kept outside the session. "
            "rounds are counted at a session's end.",
        ),
        ("two marked sessions: c compares them", "a path typed after / or dragged here opens that file"),
        (storage_words(library, ask), *((library.trouble,) if library.trouble else ())),
    )
