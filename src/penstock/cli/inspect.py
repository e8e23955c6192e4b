"""Verbs that look at the declarations and never start Spark: check, explain, graph, settings."""

from __future__ import annotations

import json as jsonlib
import sys
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from penstock.cli import trouble
from penstock.cli.options import AppPath, Json, LogJson, Set, State, Verbose, opened, option, overrides
from penstock.errors import AppFault, OptionFault, UserError, Where, masked
from penstock.observe import logs

if TYPE_CHECKING:
    from penstock.plan.model.declare import Declared
    from penstock.plan.model.findings import Finding

Strict = Annotated[bool, typer.Option("--strict", help="Warnings fail too (exit code 1).")]


def check(
    app: AppPath,
    json: Json = False,
    strict: Strict = False,
    settings: Set = None,
    log_json: LogJson = False,
    verbose: Verbose = False,
) -> None:
    """Parse and validate an app: no Spark, no network, under a second.

    With --json: one object per finding with severity, code, message, file, line, column, excerpt and hint.
    """
    logs.to_stderr(log_json, verbose)
    try:
        declared, findings = _found(app, overrides(settings))
    except UserError as error:
        for one in (error, *error.others):
            _print_finding("error", type(one).__name__, one.message, one.where, one.excerpt, one.hint, json)
        raise typer.Exit(error.exit_code) from None
    for finding in findings:
        _print_finding(finding.severity, finding.code, finding.message, finding.where, finding.excerpt, finding.hint, json)
    _conclude(findings, _counted(declared), strict)


def _found(app: Path, pairs: dict[str, str]) -> tuple[Declared, list[Finding]]:
    """What the app declares and everything that is found in it; opening the app would stop at the first error."""
    from penstock.plan.check.app import check
    from penstock.plan.check.files import file_findings
    from penstock.plan.load import load
    from penstock.settings import of_app
    from penstock.sink.options import check_sink_options
    from penstock.source.options import check_source_options

    settings, state = of_app(app, pairs)
    declared = load(app)
    return declared, [*check(declared, check_source_options, check_sink_options, settings.text("trigger"), state), *file_findings(declared)]


def _conclude(findings: list[Finding], counts: str, strict: bool) -> None:
    errors = sum(finding.severity == "error" for finding in findings)
    warnings = len(findings) - errors
    if errors:
        typer.echo(f"{errors} error{'s' * (errors != 1)}, {warnings} warning{'s' * (warnings != 1)}", err=True)
        raise typer.Exit(2)
    typer.echo(f"ok: {counts}" + (f"; {warnings} warning{'s' * (warnings != 1)}" if warnings else ""), err=True)
    if warnings and strict:
        raise typer.Exit(1)


def _print_finding(severity: str, code: str, message: str, where: Where | None, excerpt: str | None, hint: str | None, json: bool) -> None:
    if not json:
        trouble.show_finding(severity, message, where, excerpt, hint, to=sys.stdout)
        return
    place = {"file": where.file, "line": where.line, "column": where.column} if where else {"file": None, "line": None, "column": None}
    typer.echo(jsonlib.dumps({"severity": severity, "code": code, "message": message, **place, "excerpt": excerpt, "hint": hint}, ensure_ascii=False))


def _counted(declared: Declared) -> str:
    kinds = (("stream", declared.streams), ("table", declared.tables), ("view", declared.views), ("sink", declared.sinks))
    return ", ".join(f"{len(found)} {word}{'s' * (len(found) != 1)}" for word, found in kinds if found) or "nothing declared"


def explain(
    app: AppPath,
    view: Annotated[str | None, typer.Argument(metavar="VIEW", help="One view; all of them if none is named.", show_default=False)] = None,
    json: Json = False,
    state: State = None,
    settings: Set = None,
    log_json: LogJson = False,
    verbose: Verbose = False,
) -> None:
    """Show how each view runs.

    Its stages, its strategy, where the plan is cut and why, the guarantee, and what it may cost.
    """
    with opened(app, state, settings, log_json, verbose, keeps_log=False) as engine:
        for number, explanation in enumerate(engine.explain(view)):
            if json:
                typer.echo(jsonlib.dumps(asdict(explanation), ensure_ascii=False, default=str))
            else:
                typer.echo(("\n" if number else "") + str(explanation))


class Format(StrEnum):
    """What `graph` draws."""

    svg = "svg"
    mermaid = "mermaid"


_ENDINGS = {".svg": Format.svg, ".mmd": Format.mermaid, ".mermaid": Format.mermaid, ".md": Format.mermaid, ".txt": Format.mermaid, "": Format.mermaid}


def graph(
    app: AppPath,
    format: Annotated[Format | None, option("--format", help="What to draw.  [default: by the file's ending, else mermaid]")] = None,
    output: Annotated[Path | None, option("--output", "-o", metavar="FILE", help="Write there instead of stdout.")] = None,
    state: State = None,
    settings: Set = None,
    log_json: LogJson = False,
    verbose: Verbose = False,
) -> None:
    """Draw the app as SVG or Mermaid text.

    Streams, tables, views and sinks, and how each view is kept.
    """
    from penstock.plan.model import picture, svg

    wanted = format or _format_of(output)
    with opened(app, state, settings, log_json, verbose, keeps_log=False) as engine:
        drawn = picture.picture(engine.declared, {explanation.view: explanation.strategy for explanation in engine.explain(None)})
    text = svg.draw(drawn) if wanted is Format.svg else picture.mermaid(drawn)
    if output is None:
        typer.echo(text, nl=False)
        return
    try:
        output.write_text(text, encoding="utf-8")
    except OSError as error:
        raise AppFault(f"cannot write {output}: {error.strerror}") from error
    typer.echo(f"wrote {output}", err=True)


def _format_of(output: Path | None) -> Format:
    """By the file's ending; what is written without one is Mermaid."""
    ending = "" if output is None else output.suffix.lower()
    if ending not in _ENDINGS:
        known = ", ".join(known for known in _ENDINGS if known)
        raise OptionFault(f"graph cannot draw a `{ending}` file", hint=f"it knows {known}; or say --format svg or --format mermaid")
    return _ENDINGS[ending]


def settings(
    json: Json = False,
    pairs: Set = None,
) -> None:
    """List every setting with its value.

    A value is the default, or PENSTOCK_<NAME> in the environment, or --set. An app's own values are in its penstock.toml.
    """
    from penstock.settings import SETTINGS, load

    values = load(overrides=overrides(pairs))
    width = max(len(setting.name) for setting in SETTINGS)
    for setting in SETTINGS:
        value = values[setting.name]
        if isinstance(value, str):
            value = masked(value)
        if json:
            typer.echo(jsonlib.dumps({"name": setting.name, "value": value, "default": setting.default, "help": setting.help}, ensure_ascii=False))
        else:
            written = f'"{value}"' if isinstance(value, str) else str(value).lower() if isinstance(value, bool) else str(value)
            typer.echo(f"{setting.name:<{width}}  {written:<10}  {setting.help}")
