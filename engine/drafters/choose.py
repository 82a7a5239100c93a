"""From what a person asks for (`mtp`, `lookup`, `none`, a model) to a drafter for a target."""

from __future__ import annotations

from ..cache import check_rewindable
from ..errors import SpecviewError
from ..models import NoSuchModelError, Target, check_same_tokens, load_target
from .lookup import PromptLookup
from .model import DraftModel
from .mtp import MtpDrafter, load_mtp_head
from .none import NoDrafter
from .protocol import Drafter

BUILT_IN = ("mtp", "lookup", "none")


class DrafterError(SpecviewError):
    """A drafter that does not exist."""


def choose_drafter(
    wish: str,
    target: Target,
    dtype: str | None = None,
    drafter_dtype: str | None = None,
    trust_remote_code: bool = False,
    longest: int | None = None,
) -> Drafter:
    """The drafter of that name, or a draft model from a folder or hub id (`bundled` is one too).

    `dtype` is what the target was cast to (an MTP head follows it);
    `drafter_dtype` casts a draft model; `longest` is how many positions a text
    may reach. Raises an error that names the choices, or that tells why the
    target's or the drafter's cache cannot be rewound.
    """
    check_rewindable(target, longest)
    if wish == "none":
        return NoDrafter()
    if wish == "lookup":
        return PromptLookup()
    if wish == "mtp":
        return MtpDrafter(target, load_mtp_head(target, dtype))
    try:
        model = load_target(wish, drafter_dtype, trust_remote_code)
    except NoSuchModelError as error:
        raise DrafterError(
            f"There is no drafter {wish!r}: use {', '.join(BUILT_IN)}, or the folder of a draft model."
        ) from error
    check_same_tokens(target, model)
    check_rewindable(model, longest)
    return DraftModel(model, longest)
