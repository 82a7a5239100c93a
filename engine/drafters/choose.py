"""From what a person asks for (`mtp`, `lookup`, `skip:8`, a model) to a drafter for a target."""

from __future__ import annotations

from ..cache import check_rewindable
from ..errors import SpecviewError
from ..model_files import NoSuchModelError
from ..models import Target, check_same_tokens, load_target, logit_count
from .fixed import FixedAcceptance
from .layer_skip import LayerSkip
from .lookup import PromptLookup
from .model import DraftModel
from .mtp import MtpDrafter, load_mtp_head
from .none import NoDrafter
from .protocol import Drafter
from .quantised import USUAL_BITS, QuantisedSelf

BUILT_IN = ("mtp", "lookup", "none")
# each is followed by a colon and a number; only fixed cannot be without one
WITH_NUMBER = ("skip", "quantised", "fixed")
LONGEST_COUNT = 6  # digits: no model has a million layers
SELF_DRAFTS = "skip:LAYERS, quantised:BITS and fixed:P draft with the target itself"


class DrafterError(SpecviewError):
    """A drafter that does not exist."""


def choose_drafter(
    wish: str,
    target: Target,
    dtype: str | None = None,
    drafter_dtype: str | None = None,
    trust_remote_code: bool = False,
    longest: int | None = None,
    seed: int = 0,
) -> Drafter:
    """The drafter of that name, or a draft model from a folder or hub id (`bundled` is one too).

    `skip:8` drafts with the target's first 8 layers (`skip`: with a third of
    them), `quantised:4` with a copy of it in 4, 3 or 2 bits (`quantised`: in
    4), `fixed:0.7` synthetically, right with chance 0.7. `dtype` is what the
    target was cast to (an MTP head follows it); `drafter_dtype` casts a draft
    model; `longest` is how many positions a text may reach; `seed` says which
    drafts of `fixed` are right. Raises an error that names the choices, or
    that tells why the target's or the drafter's cache cannot be rewound.
    """
    check_rewindable(target, longest)
    if wish == "none":
        return NoDrafter()
    if wish == "lookup":
        return PromptLookup()
    if wish == "mtp":
        return MtpDrafter(target, load_mtp_head(target, dtype))
    name, colon, number = wish.partition(":")
    if name in WITH_NUMBER:
        return _drafting_with_itself(name, number if colon else None, target, longest, seed)
    if not wish.strip():
        raise _unknown(wish)
    try:
        model = load_target(wish, drafter_dtype, trust_remote_code, drafts=True)
    except NoSuchModelError as error:
        raise _unknown(wish) from error
    check_same_tokens(target, model)
    check_rewindable(model, longest)
    return DraftModel(model, longest, logit_count(target))


def _unknown(wish: str) -> DrafterError:
    return DrafterError(
        f"There is no drafter {wish!r}: use {', '.join(BUILT_IN)}, or the folder of a draft model; {SELF_DRAFTS}."
    )


def _drafting_with_itself(name: str, number: str | None, target: Target, longest: int | None, seed: int) -> Drafter:
    if name == "fixed":
        return FixedAcceptance(target, _chance(number), seed, longest)
    drafter: DraftModel
    if name == "quantised":
        drafter = QuantisedSelf(target, USUAL_BITS if number is None else _count(name, number), longest)
    else:
        drafter = LayerSkip(target, None if number is None else _count(name, number), longest)
    check_rewindable(drafter.model, longest)
    return drafter


def _count(name: str, number: str) -> int:
    if not number.isascii() or not number.isdigit() or len(number) > LONGEST_COUNT:
        raise _malformed(name, number)
    return int(number)


def _chance(number: str | None) -> float:
    try:
        return float(number or "")
    except ValueError:
        raise _malformed("fixed", number) from None


def _malformed(name: str, number: str | None) -> DrafterError:
    wanted = {
        "skip": "a whole number of layers, as in skip:8, or skip alone for a third of them",
        "quantised": "quantised:2, quantised:3 or quantised:4",
        "fixed": "a chance from 0 to 1, as in fixed:0.7",
    }[name]
    given = name if number is None else f"{name}:{number[:40]}"
    return DrafterError(f"The draft {given!r} cannot be read: give {wanted}.")
