"""What `penstock check` says about sinks, without a connection."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass

import pytest

from penstock.errors import OptionFault, PromiseFault
from penstock.sink.options import SINKS, check_sink_options, delivery_of

POSTGRES: dict[str, object] = {"connector": "postgres", "database": "d", "table": "t"}
GOOD: dict[str, dict[str, object]] = {
    "sqlite": {"connector": "sqlite", "path": "out.db", "table": "t"},
    "postgres": POSTGRES,
    "files": {"connector": "files", "path": "out"},
    "kafka": {"connector": "kafka", "servers": "localhost:9092", "topic": "t"},
    "console": {"connector": "console"},
    "callback": {"connector": "callback", "callback": "alerts:send"},
}


@dataclass(frozen=True)
class Reference:
    """Stands for any reference to a secret."""

    name: str


def test_every_connector_has_a_good_example() -> None:
    assert set(GOOD) == set(SINKS)
    for options in GOOD.values():
        check_sink_options("s", options)


@pytest.mark.parametrize("connector", sorted(SINKS))
def test_each_missing_option_is_named(connector: str) -> None:
    for option in SINKS[connector].options:
        if option.required:
            with pytest.raises(OptionFault, match=f"sink `s` lacks the option `{option.name}`"):
                check_sink_options("s", {name: value for name, value in GOOD[connector].items() if name != option.name})


def test_a_missing_or_unknown_connector_is_named() -> None:
    with pytest.raises(OptionFault, match="lacks the option `connector`"):
        check_sink_options("s", {})
    with pytest.raises(OptionFault, match="no connector `kafak`") as caught:
        check_sink_options("s", {"connector": "kafak"})
    assert caught.value.hint == "did you mean `kafka`?"


def test_an_unknown_option_gets_a_suggestion() -> None:
    with pytest.raises(OptionFault, match="no option `tabel`") as caught:
        check_sink_options("s", {**POSTGRES, "tabel": "x"})
    assert caught.value.hint == "did you mean `table`?"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({**POSTGRES, "port": "many"}, "wants a port, from 1 to 65535"),
        ({**POSTGRES, "port": "99999"}, "wants a port, from 1 to 65535"),
        ({**POSTGRES, "sslmode": "requre"}, "cannot be 'requre'"),
        ({**POSTGRES, "table": " "}, "is empty"),
        ({**POSTGRES, "host": Reference("h")}, "is not a secret"),
        ({**POSTGRES, "port": 5432}, "wants text"),
        ({**GOOD["files"], "format": "text"}, "cannot be 'text'"),
        ({**GOOD["kafka"], "user": "ann"}, "go together"),
        ({**GOOD["callback"], "callback": "alerts.send"}, "wants module:function"),
        ({**GOOD["console"], "delivery": "twice"}, "cannot be 'twice'"),
    ],
)
def test_a_malformed_option_is_refused(options: dict[str, object], message: str) -> None:
    with pytest.raises(OptionFault, match=message):
        check_sink_options("s", options)


def test_a_secret_may_be_a_reference() -> None:
    check_sink_options("s", {**POSTGRES, "password": Reference("pg")})


def test_the_default_delivery_is_the_best_that_asks_nothing_of_readers() -> None:
    found = {connector: delivery_of(options) for connector, options in GOOD.items()}
    assert found == {
        "sqlite": "exactly-once",
        "postgres": "exactly-once",
        "files": "exactly-once",
        "kafka": "at-least-once",
        "console": "at-least-once",
        "callback": "at-least-once",
    }


@pytest.mark.parametrize("connector", ["console", "callback"])
def test_exactly_once_is_refused_where_it_cannot_be_promised(connector: str) -> None:
    with pytest.raises(PromiseFault, match="cannot promise exactly-once: it has nowhere to write down") as caught:
        check_sink_options("s", {**GOOD[connector], "delivery": "exactly-once"})
    assert caught.value.hint is not None
    assert "'at-least-once'" in caught.value.hint
    assert "postgres, sqlite, files or kafka" in caught.value.hint


@pytest.mark.parametrize("connector", sorted(SINKS))
@pytest.mark.parametrize("delivery", ["at-most-once", "at-least-once"])
def test_every_sink_can_be_asked_for_less(connector: str, delivery: str) -> None:
    check_sink_options("s", {**GOOD[connector], "delivery": delivery})


def test_options_are_known_without_heavy_imports() -> None:
    code = "import sys, penstock.sink.options; print([m for m in ('pyspark', 'pandas', 'pyarrow', 'psycopg', 'confluent_kafka') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_files_are_written_on_this_machine_only() -> None:
    with pytest.raises(OptionFault, match="`path` wants a folder on this machine, not 's3://bucket/out'"):
        check_sink_options("s", {"connector": "files", "path": "s3://bucket/out"})
