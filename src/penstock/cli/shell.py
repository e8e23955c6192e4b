"""The interactive shell of `penstock sql`: several lines until `;`, completion, history, and a few commands that begin with a dot."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

import typer
from prompt_toolkit import PromptSession
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.filters import Condition
from prompt_toolkit.history import FileHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent

from penstock.cli import trouble
from penstock.cli.sql import timed_answer
from penstock.errors import NameFault, PenstockError
from penstock.plan.model.declare import Declared, Stream, Table
from penstock.plan.sql import script

if TYPE_CHECKING:
    from penstock.engine import Engine
    from penstock.web.beside import Beside

_WORDS = """
  SELECT FROM WHERE GROUP BY ORDER LIMIT HAVING JOIN LEFT RIGHT FULL INNER CROSS ON USING AS AND OR NOT IN IS NULL LIKE BETWEEN CASE WHEN THEN
  ELSE END DISTINCT UNION ALL WITH OVER PARTITION DESC ASC INTERVAL CAST count sum avg min max window session_window"""
KEYWORDS = tuple(_WORDS.split())
HELP = """\
A statement ends with ; and may take several lines. It reads the history of streams, tables, and the results of views.
  .tables        what can be queried
  .schema NAME   columns of a stream, table or view
  .help          this text
  .quit          leave (or Ctrl-D)"""


def talk(engine: Engine, json: bool, beside: Beside | None = None) -> None:
    """Reads statements until the person leaves; a mistake is reported and the shell goes on."""
    history = engine.state / "sql_history"
    history.parent.mkdir(parents=True, exist_ok=True)
    session: PromptSession[str] = PromptSession(
        history=FileHistory(str(history)),
        completer=Names(engine.declared),
        complete_while_typing=False,
        multiline=True,
        key_bindings=_keys(),
        prompt_continuation=lambda _width, _line, _soft: "     ... ",
    )
    typer.echo(f"{engine.declared.name}: .help for help, .quit to leave", err=True)
    while True:
        try:
            text = session.prompt("penstock> ").strip()
        except KeyboardInterrupt:
            continue
        except EOFError:
            return
        if text.startswith("."):
            if not obey(engine, text):
                return
            continue
        for statement in script.split(text):
            try:
                timed_answer(engine, statement, json, beside)
            except KeyboardInterrupt:
                typer.echo("cancelled", err=True)


def obey(engine: Engine, text: str) -> bool:
    """Carries out a dot command; False when it asks to leave."""
    word, _, argument = text.rstrip(";").strip().partition(" ")
    if word in (".quit", ".exit", ".q"):
        return False
    try:
        if word == ".tables":
            typer.echo(listing(engine.declared))
        elif word == ".schema":
            typer.echo(schema_of(engine, argument.strip()))
        elif word == ".help":
            typer.echo(HELP)
        else:
            raise NameFault(f"there is no command `{word}`", hint=".help lists the commands")
    except PenstockError as error:
        trouble.show(error)
    return True


def listing(declared: Declared) -> str:
    """Everything that a query may read, with its kind."""
    kinds = [*((name, "stream") for name in declared.streams), *((name, "table") for name in declared.tables)]
    kinds += [(name, "view") for name in declared.views]
    width = max((len(name) for name, _ in kinds), default=0)
    return "\n".join(f"{name:<{width}}  {kind}" for name, kind in kinds)


def schema_of(engine: Engine, name: str) -> str:
    """The columns of a stream, table or view, one per line; those of a view are asked of the engine."""
    wanted = {known.lower(): known for known in engine.declared.readable}.get(name.lower())
    if wanted is None:
        raise NameFault(f"there is no stream, table or view `{name}`", hint=".tables lists what there is")
    declared = engine.declared.declarations[wanted]
    columns = declared.schema if isinstance(declared, (Stream, Table)) and len(declared.schema) else engine.peek(wanted, 1).schema
    width = max((len(column.name) for column in columns), default=0)
    return "\n".join(f"{column.name:<{width}}  {column.type}" for column in columns)


class Names(Completer):
    """Completes dot commands, keywords, the app's names and the columns it declares."""

    def __init__(self, declared: Declared) -> None:
        readable = list(declared.readable)
        columns = [c.name for d in declared.declarations.values() if isinstance(d, (Stream, Table)) for c in d.schema]
        aliases = [word for view in declared.views.values() for word in re.findall(r"\bAS\s+(\w+)", view.text, re.IGNORECASE)]
        self._names = sorted({*readable, *columns, *aliases}, key=str.lower)
        self._readable = readable

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        line = document.text_before_cursor
        if line.startswith("."):
            words = self._readable if " " in line else [".tables", ".schema", ".help", ".quit"]
            typed = line.rpartition(" ")[2]
        else:
            typed = document.get_word_before_cursor()
            words = [*self._names, *KEYWORDS]
        for word in words:
            if typed and word.lower().startswith(typed.lower()):
                yield Completion(word, start_position=-len(typed))


def _keys() -> KeyBindings:
    """Enter sends a finished statement or a dot command, and breaks the line of an unfinished one."""
    keys = KeyBindings()

    @Condition
    def finished() -> bool:
        from prompt_toolkit.application import get_app

        text = get_app().current_buffer.text
        return not text.strip() or text.lstrip().startswith(".") or script.complete(text)

    @keys.add("enter", filter=finished)
    def _send(event: KeyPressEvent) -> None:
        event.current_buffer.validate_and_handle()

    return keys
