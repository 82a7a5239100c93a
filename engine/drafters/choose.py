"""From what a person asks for (`mtp`, `lookup`, `none`, a model) to a drafter for a target."""

from __future__ import annotations

from ..errors import SpecviewError
from ..models import BUNDLED, ModelError, Target, check_same_tokens, load_target
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
) -> Drafter:
    """The drafter of that name, or a draft model from a folder or hub id (`bundled` is one too).

    `dtype` is what the target was cast to (an MTP head follows it);
    `drafter_dtype` casts a draft model. Raises an error that names the choices.
    """
    if wish == "none":
        return NoDrafter()
    if wish == "lookup":
        return PromptLookup()
    if wish == "mtp":
        return MtpDrafter(target, load_mtp_head(target, dtype))
    try:
        model = load_target(wish, drafter_dtype, trust_remote_code)
    except ModelError as error:
        if wish != BUNDLED and "There is no model folder" in str(error):
            raise DrafterError(
                f"There is no drafter {wish!r}: use {', '.join(BUILT_IN)}, or the folder of a draft model."
            ) from error
        raise
    check_same_tokens(target, model)
    return DraftModel(model)
