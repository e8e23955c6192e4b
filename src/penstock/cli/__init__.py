"""The command line: the engine's verbs for people and scripts. Data goes to stdout, everything else to stderr.

Reading order: `options` (what verbs share), `inspect`, `read`, `sql`, `dead`, `infer`, `run`, `serve`, `status`, `demo`, `new`, `doctor` with
`checkup`, `broker`, `produce` (the verbs by group), `rows`, `output` (what they print), `trouble` (what can
come between). `run/` has what a live run shows, serves and how it stops; `doctor/` has its checks.

Verbs import the engine, Spark and the terminal libraries only when they need them: `check` must answer at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import typer

from penstock.cli import broker, dead, demo, doctor, infer, inspect, new, output, produce, read, rebuild, run, savepoint, serve, sql, status, trouble
from penstock.errors import EXIT_CODES, PenstockError

EPILOG = "Exit codes:\n\n\b\n" + "\n".join(f"{code:>3}  {meaning}" for code, meaning in EXIT_CODES)


def app(more: Sequence[Callable[..., None]] = ()) -> typer.Typer:
    """The command with all its verbs, in the order of the documentation; `more` are those of layers above this one."""
    command = typer.Typer(
        name="penstock",
        help="Real-time analytics on Apache Spark: streams, tables and continuous queries in SQL or Python.",
        no_args_is_help=True,
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
        epilog=EPILOG,
    )
    command.callback()(root)
    first = (new.new, demo.demo, doctor.doctor, inspect.check, inspect.explain)
    for verb in (
        *first,
        run.run,
        serve.serve,
        status.status,
        rebuild.rebuild,
        savepoint.savepoint,
        read.batch,
        read.peek,
        sql.sql,
        dead.dead,
        infer.infer,
        inspect.graph,
    ):
        command.command(epilog=EPILOG)(verb)
    command.add_typer(broker.group(EPILOG), name="broker")
    command.command(epilog=EPILOG)(produce.produce)
    for verb in more:
        command.command(epilog=EPILOG)(verb)
    command.command("settings", epilog=EPILOG)(inspect.settings)
    return command


def root(
    version: bool = typer.Option(False, "--version", help="Show the version and exit.", callback=lambda asked: _version(asked), is_eager=True),
) -> None:
    """Real-time analytics on Apache Spark: streams, tables and continuous queries in SQL or Python."""


def _version(asked: bool) -> None:
    if not asked:
        return
    from importlib.metadata import PackageNotFoundError, version

    try:
        typer.echo(f"penstock {version('penstock')}")
    except PackageNotFoundError:
        typer.echo("penstock (not installed: running from its source folder)")
    raise typer.Exit


def main(arguments: Sequence[str] | None = None, more: Sequence[Callable[..., None]] = ()) -> None:
    """Runs the command line and ends the process with a documented exit code."""
    with output.checked():
        try:
            app(more)(args=None if arguments is None else list(arguments), prog_name="penstock")
        except PenstockError as error:
            for one in (error, *error.others):
                trouble.show(one)
            raise SystemExit(error.exit_code) from None
        except Exception as error:
            trouble.show_internal(error)
            raise SystemExit(5) from None
