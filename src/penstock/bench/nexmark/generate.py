"""Nexmark's events: persons, auctions and bids of an online auction house, from a seed.

The published model: of fifty consecutive events the first is a person, the next three are auctions, the rest are bids. Half of the bids go
to the hot auction of the moment; three quarters of them come from its hot bidder, and three quarters of the auctions from its hot seller;
the others are spread over what is in flight. Event times only advance. The same seed, number, rate and split give the same files.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

STREAMS = ("person", "auction", "bid")
OF_FIFTY = {"person": 1, "auction": 3, "bid": 46}
_PROPORTION = sum(OF_FIFTY.values())
_FIRST_ID = 1000
_FIRST_CATEGORY, _CATEGORIES = 10, 5
_IN_FLIGHT, _ACTIVE_PEOPLE, _HOT_EVERY, _LEAD = 100, 1000, 100, 10
_HOT_SELLER, _HOT_AUCTION, _HOT_BIDDER = 4, 2, 4
_CHANNELS = 10_000
_HOT_CHANNELS = ("Google", "Facebook", "Baidu", "Apple")
_PLACES = (
    *(("Phoenix", "AZ"), ("Los Angeles", "CA"), ("San Francisco", "CA"), ("Boise", "ID"), ("Portland", "OR"), ("Bend", "OR")),
    *(("Seattle", "WA"), ("Redmond", "WA"), ("Kent", "WA"), ("Cheyenne", "WY")),
)
_FIRST_NAMES = ("Ada", "Bruno", "Clara", "Dmitri", "Edith", "Farid", "Grace", "Hugo", "Ines", "Jonas", "Kemal")
_LAST_NAMES = ("Almeida", "Berger", "Costa", "Dorn", "Eklund", "Ferrari", "Garcia", "Holm", "Ito")


@dataclass(frozen=True)
class Plan:
    """How many events, how many of them in a second of event time, in how many files of each stream, and from when (in milliseconds)."""

    events: int
    files: int = 1
    rate: int = 10_000
    seed: int = 7
    start_ms: int = 1_772_495_940_000
    """2026-03-02T23:59:00Z: a minute before midnight, so that days change."""


def write(folder: Path, plan: Plan) -> None:
    """One folder per stream with `files` files each; file k of all three spans the same events and comes after file k - 1."""
    import numpy as np

    for stream in STREAMS:
        (folder / stream).mkdir(parents=True, exist_ok=True)
    moment = time.time() - 2 * plan.files
    for number in range(plan.files):
        numbers = np.arange(number * plan.events // plan.files, (number + 1) * plan.events // plan.files, dtype=np.int64)
        rng = np.random.default_rng((plan.seed, number))
        for stream, lines in _lines(numbers, plan, rng).items():
            path = folder / stream / f"{number:05d}.json"
            path.write_bytes(lines)
            os.utime(path, (moment + number, moment + number))  # files of one instant could be taken in any order


def write_side_input(path: Path) -> None:
    """q13's table: a value for each of ten thousand keys."""
    path.write_text("key,value\n" + "".join(f"{key},side {key}\n" for key in range(10_000)), encoding="utf-8")


def _lines(numbers: np.ndarray, plan: Plan, rng: np.random.Generator) -> dict[str, bytes]:
    place = numbers % _PROPORTION
    auctions = (place >= 1) & (place <= OF_FIFTY["auction"])
    return {
        "person": _json(_persons(numbers[place == 0], plan, rng)),
        "auction": _json(_auctions(numbers[auctions], plan, rng)),
        "bid": _json(_bids(numbers[place > OF_FIFTY["auction"]], plan, rng)),
    }


def _persons(n: np.ndarray, plan: Plan, rng: np.random.Generator) -> dict[str, Any]:
    import pyarrow as pa
    import pyarrow.compute as pc

    first, last = (_pick(names, rng, len(n)) for names in (_FIRST_NAMES, _LAST_NAMES))
    place = rng.integers(0, len(_PLACES), len(n))
    cities, states = (pa.array([entry[side] for entry in _PLACES]).take(pa.array(place)) for side in (0, 1))
    name = pc.binary_join_element_wise(first, last, " ")
    email = pc.binary_join_element_wise(pc.utf8_lower(first), _letters(rng, len(n)), ".")
    card = pc.utf8_lpad(_text(rng.integers(0, 10**16, len(n))), 16, "0")
    return {
        "id": _last_person(n) + _FIRST_ID,
        "name": name,
        "emailAddress": pc.binary_join_element_wise(email, "@example.com", ""),
        "creditCard": card,
        "city": cities,
        "state": states,
        "dateTime": _times(_at(n, plan)),
        "extra": _letters(rng, len(n)),
    }


def _auctions(n: np.ndarray, plan: Plan, rng: np.random.Generator) -> dict[str, Any]:
    import numpy as np

    at, first = _at(n, plan), _prices(rng, len(n))
    horizon = _IN_FLIGHT * _PROPORTION // OF_FIFTY["auction"] * 1000 // plan.rate
    return {
        "id": _last_auction(n) + _FIRST_ID,
        "itemName": _letters(rng, len(n)),
        "description": _letters(rng, len(n)),
        "initialBid": first,
        "reserve": first + _prices(rng, len(n)),
        "dateTime": _times(at),
        "expires": _times(at + 1 + rng.integers(0, max(2 * horizon, 1), len(n))),
        "seller": np.where(rng.integers(0, _HOT_SELLER, len(n)) > 0, _last_person(n) // _HOT_EVERY * _HOT_EVERY, _any_person(n, rng)) + _FIRST_ID,
        "category": _FIRST_CATEGORY + rng.integers(0, _CATEGORIES, len(n)),
        "extra": _letters(rng, len(n)),
    }


def _bids(n: np.ndarray, plan: Plan, rng: np.random.Generator) -> dict[str, Any]:
    import numpy as np

    last, people = _last_auction(n), _last_person(n)
    lowest = np.maximum(last - _IN_FLIGHT, 0)
    any_auction = lowest + (rng.random(len(n)) * (last - lowest + 1 + _LEAD)).astype(np.int64)
    hot_auction = rng.integers(0, _HOT_AUCTION, len(n)) > 0
    hot_bidder = rng.integers(0, _HOT_BIDDER, len(n)) > 0
    channel, url = _channels(n, rng)
    return {
        "auction": np.where(hot_auction, last // _HOT_EVERY * _HOT_EVERY, any_auction) + _FIRST_ID,
        "bidder": np.where(hot_bidder, people // _HOT_EVERY * _HOT_EVERY + 1, _any_person(n, rng)) + _FIRST_ID,
        "price": _prices(rng, len(n)),
        "channel": channel,
        "url": url,
        "dateTime": _times(_at(n, plan)),
        "extra": _letters(rng, len(n)),
    }


def _channels(n: np.ndarray, rng: np.random.Generator) -> tuple[Any, Any]:
    """Half of the bids come by one of four named channels, the others by one of many, most of whose addresses carry its number."""
    import pyarrow as pa
    import pyarrow.compute as pc

    hot = pa.array(rng.integers(0, 2, len(n)) > 0)
    number = rng.integers(0, _CHANNELS, len(n))
    numbered = pa.array(rng.integers(0, 10, len(n)) > 0)
    other = pc.binary_join_element_wise("channel-", _text(number), "")
    words = [_words(rng, len(n)) for _ in range(3)]
    address = pc.binary_join_element_wise("https://www.nexmark.com", *words, "item.htm?query=1", "/")
    with_number = pc.binary_join_element_wise(address, "&channel_id=", _text(number * 7919), "")
    plain = pc.or_(hot, pc.invert(numbered))
    return pc.if_else(hot, _pick(_HOT_CHANNELS, rng, len(n)), other), pc.if_else(plain, address, with_number)


def _at(n: np.ndarray, plan: Plan) -> np.ndarray:
    return plan.start_ms + n * 1000 // plan.rate


def _times(ms: np.ndarray) -> Any:
    import numpy as np
    import pyarrow as pa

    return pa.array(np.char.add(np.datetime_as_string(ms.astype("datetime64[ms]"), unit="ms"), "Z"))


def _last_person(n: np.ndarray) -> np.ndarray:
    """The person that is newest when event n happens, counted from 0."""
    return n // _PROPORTION


def _last_auction(n: np.ndarray) -> np.ndarray:
    """The auction that is newest when event n happens, counted from 0; before the first there is none, and 0 stands for it."""
    import numpy as np

    count = OF_FIFTY["auction"]
    place = n % _PROPORTION
    newest: np.ndarray = n // _PROPORTION * count + np.where(place == 0, -1, np.minimum(place - 1, count - 1))
    known: np.ndarray = np.maximum(newest, 0)
    return known


def _any_person(n: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """One of those that are active, or who will sign up in a moment."""
    import numpy as np

    people = _last_person(n) + 1
    active = np.minimum(people, _ACTIVE_PEOPLE)
    chosen: np.ndarray = people - active + (rng.random(len(n)) * (active + _LEAD)).astype(np.int64)
    return chosen


def _prices(rng: np.random.Generator, count: int) -> np.ndarray:
    """From 1.00 to 1,000,000.00 in cents, as many of one size as of any other."""
    import numpy as np

    return np.rint(10.0 ** (rng.random(count) * 6) * 100).astype(np.int64)


def _pick(choices: tuple[str, ...], rng: np.random.Generator, count: int) -> Any:
    import pyarrow as pa

    return pa.array(choices).take(pa.array(rng.integers(0, len(choices), count)))


def _words(rng: np.random.Generator, count: int) -> Any:
    """Short words: parts of an address."""
    import pyarrow.compute as pc

    return pc.binary_join_element_wise("d", _text(rng.integers(0, 1000, count)), "")


def _letters(rng: np.random.Generator, count: int) -> Any:
    """Texts of twelve random letters."""
    import numpy as np
    import pyarrow as pa

    return pa.array(rng.integers(97, 123, 12 * count, dtype=np.uint8).view("S12").astype("U12"))


def _text(numbers: np.ndarray) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    return pc.cast(pa.array(numbers), pa.string())


def _json(columns: dict[str, Any]) -> bytes:
    """The columns as JSON lines. Nothing here needs escaping: the texts are letters, digits and the signs of an address."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    pieces: list[Any] = []
    for place, (name, values) in enumerate(columns.items()):
        number = isinstance(values, np.ndarray)
        begins = "{" if place == 0 else ","
        pieces += [f'{begins}"{name}":', _text(values)] if number else [f'{begins}"{name}":"', values, '"']
    lines = pc.binary_join_element_wise(*pieces, "}\n", "")
    return b"".join(lines.cast(pa.binary()).to_pylist())
