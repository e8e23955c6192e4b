"""Statements of Flink, ksqlDB and RisingWave that Penstock does not have: each is answered with its own, in the user's names."""

from __future__ import annotations

from penstock.errors import ForbiddenFault, UserError
from penstock.plan.expression.passage import Passage
from penstock.plan.model.declare import Secret

_SHOWN = 160
_BEFORE_KIND = ("temporary", "temp")


def refuse_other_statements(passage: Passage, low: int, high: int) -> None:
    """SyntaxFault for a statement of another system, with what to write instead."""
    if passage.word(low, high, "insert"):
        raise _insert(passage, low, high)
    if passage.word(low, high, "set"):
        hint = "settings stand in penstock.toml or in --set name=value; `penstock settings` lists them"
        raise passage.fault("SET is not allowed in an app", low, low + 1, hint, ForbiddenFault)
    if not passage.word(low, high, "create"):
        return
    at = low + 1 + 2 * (passage.word(low + 1, high, "or") and passage.word(low + 2, high, "replace"))
    if passage.word(at, high, *_BEFORE_KIND):
        hint = f"leave {passage.tokens[at].text.upper()} out: what an app declares is there as long as its file is"
        raise passage.fault(f"{passage.tokens[at].text.upper()} is not known here", at, at + 1, hint)
    if passage.word(at, high, "source"):
        name_at = at + 1 + passage.word(at + 1, high, "stream", "table")
        name = _name(passage, _after_if_not_exists(passage, name_at, high), high)
        kind = "TABLE" if passage.word(at + 1, high, "table") else "STREAM"
        raise passage.fault("a source is a stream here", at, at + 1, f"CREATE {kind} {name} (...) WITH (connector = 'kafka', ...)")
    if passage.word(at, high, "stream", "table"):
        _refuse_as_select(passage, at, high)
    if passage.word(at, high, "sink"):
        name_at = _after_if_not_exists(passage, at + 1, high)
        if passage.word(name_at + 1, high, "as"):
            raise _sink_of_query(passage, name_at, high)


def _refuse_as_select(passage: Passage, at: int, high: int) -> None:
    """CREATE TABLE t WITH (...) AS SELECT ..., as ksqlDB has it: a view, and a sink for the topic that it names."""
    name_at = _after_if_not_exists(passage, at + 1, high)
    if name_at >= high:
        return
    marks = [index for index in passage.top(name_at, high) if passage.word(index, high, "as") and passage.word(index + 1, high, "select", "with")]
    if not marks:
        return
    name, query = _name(passage, name_at, high), _shown(passage, marks[0] + 1, high)
    hint = f"CREATE MATERIALIZED VIEW {name} AS {query};"
    topic = next((passage.tokens[index + 2].value for index in range(name_at, marks[0]) if passage.word(index, high, "kafka_topic")), None)
    if topic is not None:
        hint += f" and, for the topic, CREATE SINK {name}_out FROM {name} WITH (connector = 'kafka', servers = 'host:9092', topic = '{topic}');"
    raise passage.fault("what is computed is a view, which is kept up to date", at, name_at + 1, hint)


def _insert(passage: Passage, low: int, high: int) -> UserError:
    """INSERT INTO sink SELECT ...: a view of the query, and a sink that delivers it."""
    at = low + 1 + passage.word(low + 1, high, "into", "overwrite") + passage.word(low + 2, high, "table")
    name = _name(passage, at, high)
    query_at = next((index for index in range(at + 1, high) if passage.word(index, high, "select", "with")), None)
    if query_at is None:
        return passage.fault("INSERT is not allowed in an app", low, low + 1, "rows enter through a stream: its files, its topic or its socket")
    view = f"{name}_rows"
    hint = (
        f"CREATE MATERIALIZED VIEW {view} AS {_shown(passage, query_at, high)}; "
        f"CREATE SINK {name} FROM {view} WITH (connector = '...', ...), with the options of the table {name}, which is then not declared"
    )
    return passage.fault("INSERT INTO is not known here: a view is kept up to date, and a sink delivers it", low, at + 1, hint)


def _sink_of_query(passage: Passage, at: int, high: int) -> UserError:
    name = _name(passage, at, high)
    end = next((index for index in passage.top(at, high) if passage.word(index, high, "with") and passage.is_op(index + 1, high, "(")), high)
    hint = f"CREATE MATERIALIZED VIEW {name}_rows AS {_shown(passage, at + 2, end)}; CREATE SINK {name} FROM {name}_rows WITH (...);"
    return passage.fault("a sink delivers a view, not a query", at, at + 2, hint)


def read_encoding(passage: Passage, at: int, high: int, options: dict[str, str | Secret]) -> int:
    """RisingWave's FORMAT PLAIN ENCODE JSON after WITH (...): it is the option `format`; the index after it."""
    if not passage.word(at, high, "format") or not passage.word(at + 2, high, "encode") or at + 3 >= high:
        return at
    form, encoding = passage.tokens[at + 1].text, passage.tokens[at + 3].text.lower()
    if form.lower() != "plain" or encoding not in ("json", "csv"):
        hint = "FORMAT PLAIN ENCODE JSON or CSV, or the option format = 'json', 'csv', 'text' or 'parquet'"
        raise passage.fault(f"FORMAT {form.upper()} ENCODE {encoding.upper()} is not available", at, at + 4, hint)
    if passage.is_op(at + 4, high, "("):
        raise passage.fault("FORMAT PLAIN ENCODE takes no options here", at + 4, passage.close(at + 4, high) + 1, "options belong into WITH (...)")
    options.setdefault("format", encoding)
    return at + 4


def _after_if_not_exists(passage: Passage, at: int, high: int) -> int:
    return at + 3 * (passage.word(at, high, "if") and passage.word(at + 1, high, "not") and passage.word(at + 2, high, "exists"))


def _name(passage: Passage, at: int, high: int) -> str:
    return passage.tokens[at].text if at < high and passage.tokens[at].is_name else "name"


def _shown(passage: Passage, low: int, high: int) -> str:
    """A query in one line, if it is short, without the semicolon and EMIT after it."""
    text = " ".join(passage.slice(low, high).split())
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN].rsplit(' ', 1)[0]} ..."
