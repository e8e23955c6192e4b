"""How to connect to a Postgres server, as a value; a password never appears in a message."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeAlias
from urllib.parse import parse_qs, unquote, urlsplit

import psycopg
from psycopg import sql

from penstock.errors import LoginError, OptionFault, OutageError, PenstockError, SinkError

Connection: TypeAlias = psycopg.Connection[tuple[Any, ...]]


def identifier(table: str, beside: str | None = None) -> sql.Identifier:
    """`schema.table` or `table`; with `beside`, the table of that name in the same schema."""
    schema, _, name = table.rpartition(".")
    return sql.Identifier(*([schema] if schema else []), beside or name)


@dataclass(frozen=True)
class PostgresServer:
    """The address of one database."""

    host: str = "localhost"
    port: int = 5432
    database: str = "postgres"
    user: str = "postgres"
    password: str = field(default="", repr=False)
    sslmode: str = "prefer"

    @classmethod
    def from_options(cls, options: Mapping[str, str]) -> PostgresServer:
        """From the options `host, port, database, user, password, sslmode`."""
        named = {name: options[name] for name in ("host", "database", "user", "password", "sslmode") if name in options}
        return cls(port=int(options.get("port", 5432)), **named)

    @classmethod
    def from_url(cls, url: str, secret: Callable[[str], str] | None = None) -> PostgresServer:
        """From `postgres://user:password@host:port/database?sslmode=...`; `secret` reads the password that `?secret=name` names."""
        try:
            parts = urlsplit(url)
            port = parts.port or 5432
        except ValueError:  # its words may quote a part of a password
            raise OptionFault("the address of the results store is malformed", hint=_FORM) from None
        if "@" in parts.path or "@" in parts.query or "@" in parts.fragment or "password" in parse_qs(parts.query):
            raise OptionFault("the address of the results store has a password that cannot be read there", hint=_FORM)
        if parts.scheme not in ("postgres", "postgresql") or not parts.path.strip("/"):
            raise OptionFault("the address of the results store must name a server and a database", hint=_FORM)
        given = {name: values[-1] for name, values in parse_qs(parts.query).items()}
        return cls(
            host=given.get("host", parts.hostname or "localhost"),
            port=port,
            database=unquote(parts.path.strip("/")),
            user=unquote(parts.username or "postgres"),
            password=secret(given["secret"]) if secret is not None and "secret" in given else unquote(parts.password or ""),
            sslmode=given.get("sslmode", "prefer"),
        )

    def __str__(self) -> str:
        return f"{self.user}@{self.host}:{self.port}/{self.database}"

    def connect(self, application: str = "penstock") -> Connection:
        """A new connection in autocommit mode, its clock in UTC; OutageError or LoginError within 10 s when there is none to be had.

        `application` is what the server calls it, cut to the 63 bytes that it keeps. A server, or a way to it, that vanishes without a word is
        noticed within half a minute, not after the two hours of the system.
        """
        try:
            return psycopg.connect(
                host=self.host,
                port=self.port,
                dbname=self.database,
                user=self.user,
                password=self.password or None,
                sslmode=self.sslmode,
                connect_timeout=10,
                keepalives_idle=15,
                keepalives_interval=5,
                keepalives_count=3,
                tcp_user_timeout=30_000,
                application_name=application.encode()[:63].decode("utf-8", "ignore"),
                options="-c timezone=UTC -c client_min_messages=warning",
                autocommit=True,
            )
        except psycopg.Error as error:
            raise unavailable(f"Postgres at {self}", error) from error

    @contextmanager
    def reported(self, doing: str) -> Iterator[None]:
        """The driver's errors inside as errors of ours that say what was being done and where: an OutageError where it may go well next time."""
        try:
            yield
        except psycopg.Error as error:
            detail = error.diag.message_detail
            kind = OutageError if isinstance(error, _PASSES) else SinkError
            raise kind(
                f"{doing} at {self} failed: {_first_line(error)}",
                hint=f"the server says: {detail}" if detail else None,
            ) from error


# The connection broke, the server has no room, a lock was not to be had, or the server only reads just now: none of it stays so.
_PASSES = (psycopg.OperationalError, psycopg.InterfaceError, psycopg.errors.ReadOnlySqlTransaction)
_LOGIN = re.compile(r"authentication failed|pg_hba\.conf|no password supplied|(?:role|database) \".*\" does not exist|permission denied for database")
_FORM = "write it as postgres://user@host:port/database?secret=name; in a password that stands there write % / # ? @ : as %25 %2F %23 %3F %40 %3A"


def unavailable(what: str, error: psycopg.Error) -> PenstockError:
    """What it means that no connection could be had: the server is away, or it refuses this login."""
    reason = _first_line(error)
    if _LOGIN.search(reason):
        return LoginError(f"{what} cannot be reached: it refuses the login: {reason}", hint="check `database`, `user` and `password`")
    return OutageError(f"{what} cannot be reached: {reason}", hint="check host and port, and that the server runs and accepts connections from here")


def _first_line(error: psycopg.Error) -> str:
    return error.diag.message_primary or next(iter(str(error).splitlines()), type(error).__name__)
