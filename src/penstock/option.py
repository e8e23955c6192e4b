"""One option of a connector, whichever way its rows go, and whether a value will do."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from penstock.errors import OptionFault, TypeFault
from penstock.eventtime import interval

STREAM = "stream"
TABLE = "table"
SINK = "sink"


@dataclass(frozen=True)
class Option:
    """`kind` is text, whole, port, number, rate, flag, interval, time or folder; `on` says for what it is meant.

    `connection`: how the place is reached, not what is there, so that a view goes on where it was when it changes.
    """

    name: str
    help: str
    required: bool = False
    default: str | None = None
    choices: tuple[str, ...] = ()
    secret: bool = False
    kind: str = "text"
    connection: bool = False
    on: tuple[str, ...] = (STREAM, TABLE, SINK)


def check_value(what: str, option: Option, value: object) -> None:
    """OptionFault when the value will not do. That of a secret may be a reference: any object with a `name`."""
    if not isinstance(value, str):
        if option.secret and hasattr(value, "name"):
            return
        detail = "is not a secret, so it takes no reference" if hasattr(value, "name") else f"wants text, not {value!r}"
        raise OptionFault(f"{what}: the option `{option.name}` {detail}", hint=option.help)
    if option.choices and value not in option.choices:
        raise OptionFault(f"{what}: `{option.name}` cannot be '{value}'", hint=_nearest(value, option.choices, "one of", "'", cutoff=0.5))
    if option.required and not value.strip():
        raise OptionFault(f"{what}: `{option.name}` is empty", hint=option.help)
    wanted, reads = _KINDS[option.kind]
    try:
        reads(value)
    except (ValueError, TypeFault):
        raise OptionFault(f"{what}: `{option.name}` wants {wanted}, not '{value}'", hint=option.help) from None


def check_present(what: str, known: Iterable[Option], given: Iterable[str]) -> None:
    """OptionFault for the first option that is required and was not given."""
    there = {name.lower() for name in given}
    for option in known:
        if option.required and option.name not in there:
            raise OptionFault(f"{what} lacks the option `{option.name}`", hint=f"{option.name} = '...': {option.help}")


def unknown(message: str, given: str, known: Iterable[str], listing: str) -> OptionFault:
    """What to raise for a word that is none of the `known`."""
    return OptionFault(message, hint=_nearest(given.lower(), tuple(known), listing, "`"))


def _nearest(given: str, known: tuple[str, ...], listing: str, quote: str, cutoff: float = 0.6) -> str:
    near = difflib.get_close_matches(given, known, n=1, cutoff=cutoff)
    return f"did you mean {quote}{near[0]}{quote}?" if near else f"{listing}: {', '.join(known)}"


def moment(text: str) -> datetime:
    """A time in ISO 8601; without a zone it is UTC."""
    read = datetime.fromisoformat(text)
    return read if read.tzinfo else read.replace(tzinfo=UTC)


def _whole(text: str) -> None:
    if not text.isdecimal():
        raise ValueError(text)


def _port(text: str) -> None:
    if not text.isdecimal() or not 0 < int(text) < 65536:
        raise ValueError(text)


def _rate(text: str) -> None:
    if not 0 < float(text) < float("inf"):
        raise ValueError(text)


def _number(text: str) -> None:
    if not 0 <= float(text) < float("inf"):
        raise ValueError(text)


def _flag(text: str) -> None:
    if text not in ("true", "false"):
        raise ValueError(text)


def _span(text: str) -> None:
    if interval(text) < 0:
        raise ValueError(text)


def _local(text: str) -> None:
    if "://" in text:
        raise ValueError(text)


_KINDS: Mapping[str, tuple[str, Callable[[str], object]]] = {
    "text": ("text", str),
    "whole": ("a whole number", _whole),
    "port": ("a port, from 1 to 65535", _port),
    "number": ("a number", _number),
    "rate": ("a number above 0", _rate),
    "flag": ("'true' or 'false'", _flag),
    "interval": ("a span of time, e.g. '10 seconds'", _span),
    "time": ("a time in ISO 8601", moment),
    "folder": ("a folder on this machine", _local),
}
