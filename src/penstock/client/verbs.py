"""The verbs `subscribe` and `query`: a server is asked from the command line."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from penstock.cli.options import option
from penstock.errors import OptionFault

if TYPE_CHECKING:
    from penstock.client.sync import Client

_URL = "http://127.0.0.1:8700"
Url = Annotated[str | None, option("--url", metavar="URL", help=f"Where the server listens.  [default: that of .penstock here, else {_URL}]")]
TokenFile = Annotated[Path | None, option("--token-file", metavar="F", help="The server's token file.  [default: .penstock/token here]")]


def subscribe(
    view: Annotated[str, typer.Argument(metavar="VIEW", help="The view to follow.", show_default=False)],
    url: Url = None,
    token_file: TokenFile = None,
    resume: Annotated[str | None, option("--from", metavar="TOKEN", help="Go on after this change, by its token.")] = None,
    where: Annotated[str | None, option("--where", metavar="CONDITION", help="Only rows for which this holds.")] = None,
) -> None:
    """Follow a view of a server: its rows, then every change, one JSON object on each line, until it is dropped."""
    for change in _client(url, token_file).follow(view, resume, where=where):
        shown = {"op": change.op, "key": change.key, "row": change.row, "epoch": change.epoch, "token": change.token}
        if change.reason not in (None, "start"):  # the snapshot takes the place of all lines before
            shown["reason"] = change.reason
        typer.echo(json.dumps(shown, ensure_ascii=False))


def query(
    sql: Annotated[str, typer.Argument(metavar="SQL", help="One SELECT.", show_default=False)], url: Url = None, token_file: TokenFile = None
) -> None:
    """Ask a server one SELECT: one JSON object for each row."""
    found = _client(url, token_file).query(sql)
    for row in found:
        typer.echo(json.dumps(row, ensure_ascii=False))
    if found.truncated:
        typer.echo(f"only the first {len(found):,} rows: setting query_rows_max of the server", err=True)


def _client(url: str | None, token_file: Path | None) -> Client:
    from penstock.client.sync import Client
    from penstock.web.beside import announced

    beside = announced(Path(".penstock")) if url is None else None
    file = token_file or (Path(beside.token_file) if beside is not None else Path(".penstock") / "token")
    url = url or (beside.url if beside is not None else _URL)
    try:
        return Client(url, file.read_text(encoding="utf-8").strip())
    except OSError as error:
        hint = "give the file that the server was started with: --token-file F"
        raise OptionFault(f"the token file {file} cannot be read: {os.strerror(error.errno or 0)}", hint=hint) from None
