"""The verb `serve`: an app runs, and can be asked, followed and changed over HTTP meanwhile."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Annotated, Self

import typer

from penstock.cli.options import LogJson, Set, State, Verbose, opened, option
from penstock.cli.run import Watch, attend
from penstock.errors import OptionFault

if TYPE_CHECKING:
    from penstock.engine import Engine
    from penstock.observe.progress import Progress
    from penstock.web.access import Access
    from penstock.web.host import Host
    from penstock.web.serving import Serving


def serve(
    app: Annotated[Path, typer.Argument(metavar="[APP]", help="The app: a .sql or .py file, or a folder of them.  [default: this folder]")] = Path(),
    listen: Annotated[str, option("--listen", metavar="HOST:PORT", help="Where to listen.  [default: 127.0.0.1:8700]")] = "127.0.0.1:8700",
    token_file: Annotated[
        Path | None,
        option("--token-file", metavar="F", help="A file with the token, one line.  [default: `token` in the state folder]"),
    ] = None,
    seconds: Annotated[float | None, option("--seconds", metavar="N", help="Stop after so many seconds.", min=0)] = None,
    take_over: Annotated[bool, typer.Option("--take-over", help="Replace a driver that hangs or cannot be reached; it is fenced.")] = False,
    state: State = None,
    settings: Set = None,
    log_json: LogJson = False,
    verbose: Verbose = False,
) -> None:
    """Run all views, and serve them: REST, push, statements that add and drop views, and a console for the browser.

    Every call but /health needs the header `Authorization: Bearer TOKEN`. Beyond the loopback address a token file is needed.
    """
    from penstock.web.access import Access, made_token, read_token
    from penstock.web.serving import address, is_loopback

    host, port = address(listen)
    if token_file is None and not is_loopback(host):
        raise OptionFault(f"--listen {listen} can be reached from other machines and needs a token", hint="--token-file F, a file with one line")
    token = None if token_file is None else read_token(token_file)
    with opened(app, state, settings, log_json, verbose, needs_spark=True) as engine:
        from penstock.cli.run import live

        file = token_file or engine.state / "token"
        watch = served(engine, live.watch(engine.declared.name, log_json), Access(token or made_token(file)), host, port, file)
        watch.announced = f"the token is in {file}"
        attend(engine, watch, False, lambda _progress, elapsed: seconds is not None and elapsed >= seconds, take_over=take_over, stay=True)


def served(engine: Engine, watch: Watch, access: Access, host: str, port: int, token_file: Path) -> Served:
    """A watch that serves the app, with the console, as long as its block runs."""
    from penstock.web.app import create_app
    from penstock.web.console.install import install
    from penstock.web.host import Host
    from penstock.web.serving import Serving

    hosted = Host(engine)
    app = create_app(hosted, access)
    serving = Serving(app, host, port)  # first, for a port that is taken must leave nothing behind
    install(app)
    return Served(serving, hosted, watch, access, token_file)


class Served:
    """Shows the progress to another watch, and serves as long as the block runs."""

    def __init__(self, serving: Serving, host: Host, watch: Watch, access: Access, token_file: Path) -> None:
        self._serving, self._host, self._watch, self._token_file = serving, host, watch, token_file
        self.login = f"{serving.url}/?code={access.new_code()}"
        self.announced = ""

    def __enter__(self) -> Self:
        from penstock.web.beside import announce

        self._serving.start()
        announce(self._host.engine.state, self._serving.url, self._token_file)
        self._watch.__enter__()
        self._watch.say(f"serving at {self._serving.url}, console at {self.login} (logs in once)" + (f", {self.announced}" if self.announced else ""))
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        from penstock.web.beside import withdraw

        withdraw(self._host.engine.state)
        self._serving.stop()
        self._host.close()
        self._watch.__exit__(kind, error, trace)

    def say(self, message: str) -> None:
        self._watch.say(message)

    def show(self, progress: list[Progress], elapsed_s: float) -> None:
        self._host.report(progress)
        self._watch.show(progress, elapsed_s)
