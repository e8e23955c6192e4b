"""Spark's exceptions in the user's terms: their file, their line, their words."""

from __future__ import annotations

import json
import re

from penstock.errors import (
    AppFault,
    EngineError,
    NameFault,
    PenstockError,
    PlanFault,
    SourceError,
    SyntaxFault,
    TypeFault,
    UserError,
    Where,
    underline,
)
from penstock.plan.model.declare import View
from penstock.plan.model.findings import text_place
from penstock.spark.compile.user_code import STOPPED

# What Spark advises where its own settings may be changed, which an app's SQL may not do.
_ADVICE = re.compile(r"""\s*[A-Z][^.\n]*?["'`]?spark\.[a-zA-Z.]+["'`]?[^.\n]*\.?""")
_SEE_ALSO = re.compile(r"\s*(?:Please,? )?[Rr]efer to ['\"`]?https?://\S+ for a fix\.?")
# Names of classes are nothing to people: `org.apache.kafka.common.errors.TimeoutException: `, `IOException: `.
_CLASSES = re.compile(r"(?:\b[a-z]\w*(?:\.[a-z]\w*)+\.[A-Z][\w$]*|\b[A-Z]\w*(?:Exception|Error))(?::\s*|\b)")
_CONDITION = re.compile(r"^\[([A-Z0-9_]+)(?:\.[A-Z0-9_]+)*\]\s*")
_CALL_FAILED = re.compile(r"An error occurred while calling \S+\.\n")
_CAUSE = re.compile(r"^(?::|Caused by:) ([\w.$]+): (.*?)(?: SQLSTATE.*)?$", re.MULTILINE)
_UNREAD = "FAILED_READ_FILE"
ASKED = "query"  # the view that stands for a SELECT which is asked once
_KINDS: tuple[tuple[str, type[UserError]], ...] = (
    ("UNRESOLVED_COLUMN", NameFault),
    ("UNRESOLVED_ROUTINE", NameFault),
    ("UNRESOLVED_FIELD", NameFault),
    ("FIELD_NOT_FOUND", NameFault),
    ("TABLE_OR_VIEW_NOT_FOUND", NameFault),
    ("AMBIGUOUS", NameFault),
    ("PARSE_SYNTAX_ERROR", SyntaxFault),
    ("DATATYPE_MISMATCH", TypeFault),
    ("CAST_INVALID_INPUT", TypeFault),
    ("INCOMPATIBLE", TypeFault),
    ("NUM_COLUMNS_MISMATCH", TypeFault),
    ("MISSING_AGGREGATION", PlanFault),
)
# Values in the data that the user's own expression cannot take: the SQL must change, so a restart would not help.
_DATA = (
    "CAST_INVALID_INPUT",
    "CAST_OVERFLOW",
    "DIVIDE_BY_ZERO",
    "ARITHMETIC_OVERFLOW",
    "INVALID_ARRAY_INDEX",
    "CANNOT_PARSE_TIMESTAMP",
    "NUMERIC_VALUE_OUT_OF_RANGE",
    "SCALAR_SUBQUERY_TOO_MANY_ROWS",
    "USER_RAISED_EXCEPTION",
)


def in_users_words(error: Exception, view: View | None) -> PenstockError:
    """`error` as one of ours; the excerpt underlines the part of the view's text that Spark complains of."""
    if isinstance(error, PenstockError):
        return error
    raised = _of_user_code(str(error), view)
    if raised is not None:
        return raised
    text = _innermost(str(error)) or _first_lines(str(error))
    condition = _condition(error, text)
    if condition in _DATA:
        text = _message_of(condition, str(error)) or text
    kind = next((kind for prefix, kind in _KINDS if condition.startswith(prefix)), None)
    if kind is None and condition in _DATA:
        kind = PlanFault
    if kind is None and type(error).__name__ in ("AnalysisException", "ParseException"):
        kind = PlanFault
    message = _CLASSES.sub("", _ADVICE.sub("", _SEE_ALSO.sub("", _CONDITION.sub("", text)))).strip()
    hint = "use try_cast, nullif or a filter for values that do not fit" if condition in _DATA else None
    if kind is not None:
        where, excerpt = _place(error, view)
        return kind(f"view `{view.name}`: {message}" if view and view.name != ASKED else message, where=where, excerpt=excerpt, hint=hint)
    if condition == _UNREAD:
        words = (_message_of(condition, str(error)) or "Encountered error while reading a file").rstrip(". ")
        return SourceError(words if words in message else f"{words}: {message}", hint="put the file right, or take it away; it is read again then")
    return EngineError(message or "Spark failed without a word", hint="the whole trace is in logs/spark.log of the state folder")


def _of_user_code(text: str, view: View | None) -> PenstockError | None:
    """What a Python function of the app raised on an executor, with its own file and line."""
    at = text.find(STOPPED)
    if at < 0:
        return None
    report, _ = json.JSONDecoder().raw_decode(text[at + len(STOPPED) :])
    row = "" if report["row"] is None else f", for {report['row']}"
    message = f"{report['reason']}{row}"
    hint = "handle such rows in the function, or let them go to the dead letters: WITH (on_error = 'dead')" if report["row"] is not None else None
    where = Where(report["file"], report["line"]) if report["file"] else None
    return AppFault(f"view `{view.name}`: {message}" if view and view.name != ASKED else message, where=where, hint=hint)


def _condition(error: Exception, text: str) -> str:
    """Spark's name for the condition; the innermost one when a streaming query wraps it."""
    names = re.findall(r"\[([A-Z][A-Z0-9_]{3,})(?:\.[A-Z0-9_]+)*\]", str(error)[:20_000])
    named = [name for name in names if name not in ("STREAM_FAILED", "FOREACH_BATCH_USER_FUNCTION_ERROR")]
    getter = getattr(error, "getCondition", None) or getattr(error, "getErrorClass", None)
    own = getter() if callable(getter) else None
    if own and own not in ("STREAM_FAILED", "FOREACH_BATCH_USER_FUNCTION_ERROR"):
        return str(own).split(".")[0]
    return named[0] if named else ""


def _message_of(condition: str, text: str) -> str | None:
    """Spark's sentence about the condition, wherever it stands in a chain of causes."""
    found = re.search(rf"\[{condition}[A-Z0-9_.]*\] (.*?)(?: SQLSTATE|\n|$)", text)
    return found.group(1).strip() if found else None


def _innermost(text: str) -> str | None:
    """The last of the causes that Java gives, where py4j only says which call failed; None for any other error."""
    if not _CALL_FAILED.match(text):
        return None
    own = text.split("\nTraceback (most recent call last)")[0]  # a trace of Python's inside repeats the causes, and ends otherwise
    causes = [(kind.rpartition(".")[2], words.strip()) for kind, words in _CAUSE.findall(own) if not kind.startswith("py4j.") and words.strip()]
    if not causes:
        return None
    kind, words = causes[-1]
    return f"the file {words} is missing" if kind == "NoSuchFileException" else f"{kind}: {words}"


def _first_lines(text: str) -> str:
    """What Spark says before plans and stack traces begin."""
    kept: list[str] = []
    for line in text.splitlines():
        if line.startswith(("\tat ", "'", "+-", "~", "=== ", "JVM stacktrace", "== SQL", "== DataFrame")) or "SQLSTATE" in line:
            if "SQLSTATE" in line:
                kept.append(re.sub(r"\s*SQLSTATE:.*", "", line))
            break
        kept.append(line)
    wrapped = re.search(r"terminated with exception: (.*)", "\n".join(kept), re.DOTALL)
    words = (wrapped.group(1) if wrapped else "\n".join(kept)).strip().rstrip(";").strip()
    return words or (text.splitlines()[0] if text else "")


def _place(error: Exception, view: View | None) -> tuple[Where | None, str | None]:
    """The user's line for the fragment that Spark quotes: scalars reach Spark as they were written."""
    if view is None or view.where is None:
        return None, None
    for fragment in _fragments(error):
        at = view.text.find(fragment) if fragment else -1
        if at >= 0:
            first = text_place(view).line
            line = first + view.text.count("\n", 0, at)
            return Where(view.where.file, line), underline(view.text, at, at + len(fragment), first)
    return view.where, None


def _fragments(error: Exception) -> list[str]:
    found: list[str] = []
    contexts = getattr(error, "getQueryContext", None)
    for context in contexts() if callable(contexts) else []:
        try:
            found.append(context.fragment())
        except Exception:
            continue
    found += [name.replace("`", "") for name in re.findall(r"with name (`[^`]+`(?:\.`[^`]+`)*)", str(error))]
    found += [name.replace("`", "") for name in re.findall(r"routine (`[^`]+`)", str(error))]
    return [fragment.strip() for fragment in found]
