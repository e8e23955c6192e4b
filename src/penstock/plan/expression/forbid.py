"""What user SQL may not do: reach files, classes, commands, settings or the session outside the app.

Statements are allow-listed by `statements` (it knows no other) and relations by `from_clause` (one part, declared in the app);
this module denies what could still be written inside a query. It reads Spark's tokens, so case, comments and backticks hide nothing.
"""

from __future__ import annotations

from itertools import groupby

from penstock.errors import ForbiddenFault, UserError, Where
from penstock.plan.expression.passage import Passage
from penstock.plan.expression.words import GENERATORS, words

DENIED_FUNCTIONS: dict[str, str] = {
    **dict.fromkeys(("reflect", "java_method", "try_reflect"), "it calls any class of the JVM"),
    **dict.fromkeys(
        ("read_files", "cloud_files", "read_kafka", "read_kinesis", "read_pulsar", "read_pubsub"), "it reads what the app does not declare"
    ),
    **dict.fromkeys(("input_file_name", "input_file_block_start", "input_file_block_length"), "it shows paths of the machine"),
    **dict.fromkeys(("from_protobuf", "to_protobuf"), "it can read any file as a schema"),
    **dict.fromkeys(("python_worker_logs", "event_log", "secret", "try_secret", "http_request", "remote_query"), "it reads the session's own data"),
    "identifier": "it makes names of text, past every check",
    "table": "it reads what the app does not declare",
}
OPTIONS_DENIED = ("rowvalidationxsdpath", "avroschemaurl")
_TAKE_OPTIONS = {"from_xml": 2, "schema_of_xml": 1, "from_avro": 2, "schema_of_avro": 1}
TABLE_FUNCTIONS = GENERATORS | words("range sql_keywords collations")
DATA_SOURCES = words(
    """
csv json parquet orc text xml avro binaryfile delta iceberg hudi jdbc kafka image libsvm hive rate socket memory console noop
ratemicrobatch statestore protobuf org com excel pickle
"""
)
_WORDS_AFTER: tuple[tuple[str, tuple[str, ...], str], ...] = (
    ("insert", ("into", "overwrite"), "INSERT writes past the app's sinks"),
    ("row", ("format",), "TRANSFORM runs programs of the machine"),
    ("add", ("jar", "jars", "file", "files", "archive", "archives"), "ADD loads code into the engine"),
    ("execute", ("immediate",), "EXECUTE IMMEDIATE runs text that cannot be checked"),
    ("load", ("data",), "LOAD DATA reads files of the machine"),
    ("create", ("function", "temporary", "temp", "global"), "CREATE FUNCTION loads code into the engine"),
)


def forbid(text: str, where: Where | None = None) -> None:
    """Raise ForbiddenFault if the query or expression `text` reaches outside the app."""
    place = where or Where("SQL", 1)
    passage = Passage(text, place.file, place.line)
    forbid_query(passage, 0, len(passage.tokens))


def forbid_query(passage: Passage, low: int, high: int) -> None:
    """The same for a range of a file's tokens."""
    _substitution(passage, low, high)
    for index in range(low, high):
        token = passage.tokens[index]
        if not token.is_name:
            continue
        name = token.value.lower()
        if passage.is_op(index + 1, high, "("):
            _function(passage, name, index, high)
        elif token.kind == "word":
            _phrase(passage, name, index, high)
        _path(passage, index, high)


def relation_fault(passage: Passage, low: int, high: int, name: str | None = None) -> UserError:
    """The fault for a relation that is not one plain name."""
    hint = "declare it with CREATE STREAM or CREATE TABLE and use that name: names have one part"
    return passage.fault(f"`{name or passage.slice(low, high)}` lies outside the app", low, high, hint, ForbiddenFault)


def table_function(passage: Passage, index: int, high: int) -> None:
    """Only functions that make rows of their arguments may stand in FROM."""
    name = passage.tokens[index].value.lower()
    if name not in TABLE_FUNCTIONS:
        allowed = ", ".join(sorted(TABLE_FUNCTIONS))
        raise passage.fault(f"the function `{name}` may not be used in FROM", index, index + 1, f"these may: {allowed}", ForbiddenFault)


def _substitution(passage: Passage, low: int, high: int) -> None:
    """Spark replaces ${...}, even inside strings, by settings and environment variables before it parses."""
    start, end = passage.tokens[low].start if low < high else 0, passage.tokens[high - 1].end if low < high else 0
    at = passage.text.find("${", start, end)
    if at >= 0:
        index = next(i for i in range(low, high) if passage.tokens[i].end > at)
        raise passage.fault(
            "${...} would read settings of the engine", index, index + 1, "write '$' || '{' where you mean the two characters", ForbiddenFault
        )


def _function(passage: Passage, name: str, index: int, high: int) -> None:
    if name in DENIED_FUNCTIONS:
        if name == "table" and passage.word(index + 2, high, "tumble", "hop", "session", "cumulate"):
            return
        raise passage.fault(f"the function `{name}` is not allowed: {DENIED_FUNCTIONS[name]}", index, index + 1, None, ForbiddenFault)
    if name == "with":
        raise passage.fault("options of a relation are not allowed in a query", index, index + 1, "options belong into CREATE STREAM", ForbiddenFault)
    if name in _TAKE_OPTIONS:
        close = passage.close(index + 1, high)
        for low, end in passage.split(index + 2, close)[_TAKE_OPTIONS[name] :] if close > index + 2 else []:
            if not _harmless_map(passage, low, end):
                hint = f"options are a map of constants, without {' and '.join(OPTIONS_DENIED)}"
                raise passage.fault(f"these options of `{name}` are not allowed: they could read any file", low, end, hint, ForbiddenFault)


def _harmless_map(passage: Passage, low: int, high: int) -> bool:
    found = passage.tokens[low:high]
    constant = all(token.kind == "string" or token.text in ("(", ")", ",") or token.is_word("map") for token in found)
    runs = ("".join(token.value for token in run) for _, run in groupby(found, key=lambda token: token.kind))  # Spark joins strings
    return constant and not any(run.lower().strip() in OPTIONS_DENIED for run in runs)


def _phrase(passage: Passage, name: str, index: int, high: int) -> None:
    if name == "using" and index + 1 < high and passage.tokens[index + 1].kind == "string":
        raise passage.fault("TRANSFORM, MAP and REDUCE ... USING run programs of the machine", index, index + 2, None, ForbiddenFault)
    for word, followers, reason in _WORDS_AFTER:
        if name == word and passage.word(index + 1, high, *followers) and passage.opens_clause(index):
            raise passage.fault(f"not allowed: {reason}", index, index + 2, None, ForbiddenFault)


def _path(passage: Passage, index: int, high: int) -> None:
    """csv.`/etc/passwd`: a data source and a path, wherever it stands."""
    if not passage.is_op(index + 1, high, ".") or index + 2 >= high or (index and passage.is_op(index - 1, high, ".")):
        return
    after = passage.tokens[index + 2]
    if passage.tokens[index].value.lower() in DATA_SOURCES and after.kind == "quoted" and any(mark in after.value for mark in "/\\:*"):
        raise relation_fault(passage, index, index + 3)
