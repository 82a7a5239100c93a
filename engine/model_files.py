"""Where a model's files are: in a folder, in the hub's local cache, or downloaded; and what a session calls it."""

from __future__ import annotations

import os
import re
from pathlib import Path

from .errors import SpecviewError
from .paths import local_path

BUNDLED = "bundled"
BUNDLED_FOLDER = Path(__file__).resolve().parent.parent / "assets" / "model"
HUB_TIMEOUT_S = "5"
WITHOUT_HUB = "leave --model out for the bundled model"
# what the hub accepts; of anything else its client raises an error of its own
HUB_ID = re.compile(r"(?!.*(--|\.\.))\b[\w.-]{1,96}\b/\b[\w.-]{1,96}\b(?<!\.git)", re.ASCII)


class ModelError(SpecviewError):
    """A model that cannot be had, with what to do about it."""


class NoSuchModelError(ModelError):
    """A name that is neither a folder here nor a hub id."""


def folder_of(source: str, otherwise: str) -> Path:
    """The folder that holds the files of `source`, downloading a hub id if that can be done."""
    if source == BUNDLED:
        return BUNDLED_FOLDER
    path = local_path(source)
    try:
        if path.is_dir():
            if not (path / "config.json").is_file():
                raise ModelError(
                    f"{path.resolve().name} holds no config.json, so it is no mlx-lm model: name the folder that "
                    "mlx_lm.convert wrote."
                )
            return path
        if path.is_file():
            raise ModelError(f"{path.name} is a file: name the folder of the model, not a file in it.")
    except OSError as error:
        raise ModelError(f"{path.name[:80]} cannot be read ({error.strerror}): name another folder.") from error
    if not HUB_ID.fullmatch(source):
        raise NoSuchModelError(
            f"There is no model folder {source!r} here: give a folder, a hub id such as org/name, or {otherwise}."
        )
    return downloaded(source, otherwise=otherwise)


def downloaded(hub_id: str, only: str | None = None, otherwise: str = WITHOUT_HUB) -> Path:
    """The local snapshot of a hub id through mlx-lm's loader, or `only` one file of it.

    Offline it fails after a short time-out with ModelError; `otherwise` is what else a person can do.
    """
    os.environ.setdefault("HF_HUB_ETAG_TIMEOUT", HUB_TIMEOUT_S)
    os.environ.setdefault("HF_HUB_DOWNLOAD_TIMEOUT", HUB_TIMEOUT_S)
    os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
    from huggingface_hub import errors, hf_hub_download, try_to_load_from_cache
    from mlx_lm.utils import _download

    known = try_to_load_from_cache(hub_id, only or "config.json")
    if isinstance(known, str) and only is not None:
        return Path(known)
    if not isinstance(known, str) and not _hub_answers():
        raise ModelError(
            f"{hub_id} is neither a folder here nor in the local cache, and the hub cannot be reached: "
            f"go online, or {otherwise}."
        )
    try:
        return Path(_download(hub_id) if only is None else hf_hub_download(hub_id, only))
    except (errors.RepositoryNotFoundError, errors.GatedRepoError) as error:
        raise ModelError(
            f"The hub does not give out {hub_id}: check the name and your access, or {otherwise}."
        ) from error
    except (OSError, ValueError, errors.HfHubHTTPError) as error:
        raise ModelError(
            f"{hub_id} could not be downloaded ({type(error).__name__}): try again, or {otherwise}."
        ) from error


def _hub_answers() -> bool:
    """Whether the hub's address resolves and takes a connection within the time-out."""
    import socket
    from urllib.parse import urlsplit

    from huggingface_hub import constants

    if constants.HF_HUB_OFFLINE:
        return False
    address = urlsplit(constants.ENDPOINT)
    try:
        port = address.port or (443 if address.scheme == "https" else 80)
        socket.create_connection((address.hostname or "", port), float(HUB_TIMEOUT_S)).close()
    except OSError:
        return False
    return True


def public_name(source: str) -> str:
    """How a session names a model: its hub id or the folder's last part; no path leaves the machine."""
    if source == BUNDLED:
        return BUNDLED
    path = local_path(source)
    try:
        return path.resolve().name if path.exists() else source
    except (OSError, ValueError):  # no file can have such a name
        return source
