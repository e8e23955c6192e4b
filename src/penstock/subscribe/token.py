"""A reader's place in the changes of one view, and the same as opaque text that it can keep."""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass

from penstock.errors import OptionFault

ALL = -1
_VERSION = "1"
_HINT = "give the token of a change as it was received, or none to start with a snapshot"


@dataclass(frozen=True)
class Place:
    """After the first `seen` changes of `epoch`, or after all of them. Generation `` : before the first epoch there ever was."""

    view: str
    generation: str
    epoch: int
    seen: int = ALL


def encode(place: Place) -> str:
    """The token of a place; nobody needs to read it."""
    text = "|".join((_VERSION, place.generation, str(place.epoch), str(place.seen), place.view))
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def decode(token: str, view: str) -> Place:
    """The place of a token; OptionFault where it is none, or one of another view."""
    try:
        text = base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)).decode()
        version, generation, epoch, seen, of_view = text.split("|", 4)
        place = Place(of_view, generation, int(epoch), int(seen))
    except (binascii.Error, ValueError, TypeError, AttributeError):
        raise OptionFault(f"{str(token)[:40]!r} is not a resume token", hint=_HINT) from None
    if version != _VERSION or place.epoch < -1 or place.seen < ALL:
        raise OptionFault(f"{token[:40]!r} is not a resume token of this version", hint=_HINT)
    if place.view != view:
        raise OptionFault(f"the resume token is of view `{place.view}`, not of `{view}`", hint=_HINT)
    return place
