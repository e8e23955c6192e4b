"""The options of formats: how texts, numbers and times are written; whether a value will do is found without Spark."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from zoneinfo import available_timezones

from penstock.errors import OptionFault
from penstock.formats import EPOCHS, NANOS, NO_QUOTE, TAB
from penstock.option import Option

CSV, JSON, PARQUET = "csv", "json", "parquet"
ENCODINGS = ("utf-8", "us-ascii", "iso-8859-1", "windows-1252", "utf-16", "utf-16le", "utf-16be")
RECORD_OPTIONS: tuple[Option, ...] = (
    Option(
        "timestamp_format",
        "how times are written in json and csv: a pattern such as yyyy/MM/dd HH:mm:ss, epoch_seconds, epoch_millis, epoch_micros or epoch_nanos; "
        "absent: ISO 8601. In parquet epoch_nanos, where it holds nanoseconds",
    ),
    Option("date_format", "how dates are written in json and csv: a pattern such as dd.MM.yyyy; absent: ISO 8601"),
    Option("zone", "the zone of times in json and csv that name none, e.g. Europe/Lisbon", default="UTC"),
    Option("delimiter", "one character between the values of a csv line; \\t or tab: a tabulator", default=","),
    Option("quote", "one character around values of csv that hold a delimiter; nothing where there is none", default='"'),
    Option("escape", "one character before a quote inside of a quoted value of csv", default='"'),
    Option("null_value", "text that stands for NULL in csv, as nothing between two delimiters always does"),
    Option(
        "decimal",
        "the mark before the decimals of DECIMAL columns in csv; the other one may stand between thousands",
        default=".",
        choices=(".", ","),
    ),
    Option("trim", "blanks around the values of csv are none of them", default="false", kind="flag"),
    Option("encoding", "how json and csv are encoded", default="utf-8", choices=ENCODINGS),
)
FILE_OPTIONS: tuple[Option, ...] = (
    Option(
        "multiline",
        "json: a file is one text, a record or an array or several of them; csv: quoted values may hold line breaks",
        default="false",
        kind="flag",
    ),
)
_LONGER = (*(("delimiter", tab) for tab in TAB), ("quote", NO_QUOTE))
_OF_CSV = ("delimiter", "quote", "escape", "null_value", "decimal", "trim")
_OF_BOTH = ("timestamp_format", "date_format", "zone", "encoding", "multiline")
_LETTERS = "GyMLdDQqahkKHmsSVzOXxZ"
_STRPTIME = {
    "%Y": "yyyy",
    "%y": "yy",
    "%m": "MM",
    "%d": "dd",
    "%H": "HH",
    "%I": "hh",
    "%M": "mm",
    "%S": "ss",
    "%f": "SSSSSS",
    "%p": "a",
    "%b": "MMM",
    "%B": "MMMM",
    "%z": "Z",
}
_OFFSET = re.compile(r"[+-](?:0\d|1[0-8]):[0-5]\d")
_QUOTED = re.compile(r"'[^']*'")


def check_format(what: str, options: Mapping[str, object]) -> None:
    """OptionFault for an option that its format does not have, or whose value means nothing."""
    shape = str(options.get("format", JSON))
    _check_owner(what, shape, options)
    given = {name: str(value) for name, value in options.items()}
    for name in ("delimiter", "quote", "escape"):
        if name in given and len(given[name]) != 1 and (name, given[name]) not in _LONGER:
            raise OptionFault(f"{what}: `{name}` wants one character, not '{given[name]}'", hint="e.g. delimiter = ';' or delimiter = '\\t'")
    if given.get("delimiter") in ("\n", "\r") or ("delimiter" in given and given["delimiter"] == given.get("quote", '"')):
        raise OptionFault(f"{what}: `delimiter` cannot be {given['delimiter']!r}", hint="it is neither a line end nor the quote")
    for name in ("timestamp_format", "date_format"):
        if name in given and not (name == "timestamp_format" and given[name] in EPOCHS):
            _check_pattern(what, name, given[name])
    if "zone" in given:
        _check_zone(what, given["zone"])
    _check_encoding(what, shape, given)


def _check_owner(what: str, shape: str, options: Mapping[str, object]) -> None:
    """Options that another format has; parquet has the one that says that its times are nanoseconds."""
    for name in (*_OF_CSV, *_OF_BOTH):
        wanted = (CSV,) if name in _OF_CSV else (CSV, JSON)
        if name not in options or shape in wanted or (shape, options[name]) == (PARQUET, NANOS):
            continue
        raise OptionFault(f"{what}: `{name}` belongs to format {' or '.join(repr(one) for one in wanted)}, not to '{shape}'", hint="leave it out")


def _check_encoding(what: str, shape: str, given: Mapping[str, str]) -> None:
    """What the way to the records allows: those of Kafka come one by one, lines of a socket must be separable, Spark reads files."""
    if given.get("connector") == "kafka":
        return
    if given.get("connector") == "socket":
        if given.get("encoding", "utf-8").startswith("utf-16"):
            raise OptionFault(f"{what}: lines of {given['encoding']} cannot be separated", hint="send them as UTF-8, or through Kafka")
        return
    if given.get("tail") == "true":
        for name in ("encoding", "multiline"):
            if given.get(name, "false").lower() not in ("false", "utf-8"):
                raise OptionFault(
                    f"{what}: a followed file cannot have `{name}`", hint=f"leave `{name}` or `tail` out: it is followed line by line, as UTF-8"
                )
    if given.get("encoding", "utf-8").startswith("utf-16") and (shape, given.get("multiline")) != (CSV, "true"):
        raise OptionFault(f"{what}: files of {given['encoding']} are read as csv with multiline = 'true'", hint="or write them as UTF-8")
    if shape == JSON and given.get("multiline") == "true" and given.get("encoding", "utf-8") != "utf-8":
        raise OptionFault(f"{what}: json with multiline = 'true' is UTF-8", hint="leave `encoding` out, and write the files as UTF-8")


def _check_pattern(what: str, name: str, pattern: str) -> None:
    """A pattern that Spark's parser would refuse when it runs, or that is written in another language of patterns."""
    if "%" in pattern:
        suggestion = re.sub(r"%[A-Za-z]", lambda found: _STRPTIME.get(found[0], found[0]), pattern)
        raise OptionFault(f"{what}: `{name}` is no pattern of Spark: '{pattern}'", hint=f"did you mean '{suggestion}'?")
    near = difflib.get_close_matches(pattern, EPOCHS, n=1) if name == "timestamp_format" else []
    if near:
        raise OptionFault(f"{what}: `{name}` cannot be '{pattern}'", hint=f"did you mean '{near[0]}'?")
    if pattern.count("'") % 2:
        raise OptionFault(
            f"{what}: a quote in `{name}` is not closed: '{pattern}'", hint="letters that mean themselves stand in quotes: yyyy-MM-dd'T'HH:mm"
        )
    bare = _QUOTED.sub("", pattern)
    if bare.count("[") != bare.count("]") or not pattern.strip():
        raise OptionFault(f"{what}: `{name}` is no pattern: '{pattern}'", hint="e.g. yyyy-MM-dd HH:mm:ss[.SSSSSS]; what is in brackets may be absent")
    wrong = [letter for letter in dict.fromkeys(bare) if letter.isalpha() and letter not in _LETTERS]
    if wrong or "DD" in bare:
        suggestion = _with_month(bare.replace("Y", "y").replace("DD", "dd").replace("T", "'T'")) if bare == pattern else ""
        sound = suggestion and all(letter in _LETTERS for letter in _QUOTED.sub("", suggestion) if letter.isalpha())
        known = "yyyy year, MM month, dd day, HH hour, hh hour of 12 with a, mm minute, ss second, SSS fraction, X zone; others in quotes"
        letter = wrong[0] if wrong else "DD"
        raise OptionFault(f"{what}: `{letter}` in `{name}` means nothing: '{pattern}'", hint=f"did you mean '{suggestion}'?" if sound else known)
    _check_parts(what, name, pattern, bare)


def _check_parts(what: str, name: str, pattern: str, bare: str) -> None:
    """Letters that are known, and mean nothing without others."""
    if "d" in bare and not re.search(r"[MLDQq]", bare):
        raise OptionFault(f"{what}: `{name}` has a day and no month: '{pattern}'", hint=f"MM is the month, mm the minute: '{_with_month(pattern)}'")
    if re.search(r"[hK]", bare) and "a" not in bare:
        raise OptionFault(
            f"{what}: `h` in `{name}` is an hour of 12, which needs `a`: '{pattern}'", hint="HH is the hour of 24; or add `a` for AM and PM"
        )


def _with_month(pattern: str) -> str:
    """The pattern with a month where it has minutes beside its day."""
    return pattern if re.search(r"[ML]", pattern) else re.sub(r"mm?", lambda found: found[0].upper(), pattern, count=1)


def _check_zone(what: str, zone: str) -> None:
    if zone == "UTC" or _OFFSET.fullmatch(zone) or zone in available_timezones():
        return
    known = sorted(available_timezones())
    by_city = {name.rpartition("/")[2].lower(): name for name in known}
    near = by_city.get(zone.lower().replace(" ", "_")) or next(iter(difflib.get_close_matches(zone, known, n=1)), None)
    raise OptionFault(f"{what}: there is no zone '{zone}'", hint=f"did you mean '{near}'?" if near else "e.g. UTC, Europe/Lisbon or +02:00")
