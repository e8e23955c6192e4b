"""One option of a connector, whichever way its rows go, and whether a value will do."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from penstock import elsewhere
from penstock.errors import OptionFault, TypeFault, UserError
from penstock.eventtime import interval

STREAM = "stream"
TABLE = "table"
SINK = "sink"


@dataclass(frozen=True)
class Option:
    """`kind` is text, whole, port, number, rate, flag, interval, time, folder or file; `on` says what it applies to.

    `connection`: how to connect to the place, not what is there, so that a view goes on where it was when it changes.
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


def absent(what: str, known: Iterable[Option], given: Iterable[str]) -> Iterator[OptionFault]:
    """A fault for each option that is required and was not given, not even in the words of another system."""
    there = {name.lower() for name in given}
    renamed = {elsewhere.OPTIONS[name].split()[0] for name in there if name in elsewhere.OPTIONS}
    for option in known:
        if option.required and option.name not in there | renamed:
            yield OptionFault(f"{what} lacks the option `{option.name}`", hint=f"{option.name} = '...': {option.help}")


def unknown(message: str, given: str, known: Iterable[str], listing: str, value: object = None) -> OptionFault:
    """The fault for a word that is none of the `known`: what Penstock calls it, if another system or the Python face has it, else the nearest."""
    return OptionFault(message, hint=elsewhere.option_hint(given.lower(), value) or _nearest(given, tuple(known), listing, "`"))


def nearest(given: str, known: Iterable[str]) -> str:
    """The one of some words that is most likely meant; "" where none is near."""
    return next(iter(difflib.get_close_matches(given.lower(), tuple(known), n=1)), "")


def raise_all(faults: Iterable[UserError]) -> None:
    """Raises the first of some faults, with the others beside it; nothing where there is none."""
    found = list(faults)
    if found:
        found[0].others = tuple(found[1:])
        raise found[0]


def tried(check: Callable[[], object]) -> Iterator[UserError]:
    """The faults that a check raises."""
    try:
        check()
    except UserError as fault:
        yield fault


def _nearest(given: str, known: tuple[str, ...], listing: str, quote: str, cutoff: float = 0.6) -> str:
    near = difflib.get_close_matches(given.lower(), known, n=1, cutoff=cutoff) or [name for name in known if name.lower() == given.lower()]
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
    "file": ("a file on this machine", _local),
}
