"""Planted secrets are used for real and then looked for in everything that Penstock prints or leaves behind."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock import Kafka, cli
from penstock.dev import broker as brokers
from penstock.dev.broker import Broker, free_port
from penstock.dev.produce import produce
from penstock.plan.load import load
from penstock.source import SourceSpec
from penstock.testing.postgres import TemporaryPostgres

QUICK = {"PENSTOCK_MASTER": "local[2]", "PENSTOCK_DRIVER_MEMORY": "1g", "PENSTOCK_SHUFFLE_PARTITIONS": "2", "PENSTOCK_FAST_START": "true"}
KAFKA_SECRET = 'canary"kafka\\word'


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    """A broker that asks for a password at its second address: the open address and the guarded one."""
    port = free_port()
    plain = brokers.server_properties

    def with_password(folder: Path, own: int, controller: int) -> str:
        word = KAFKA_SECRET.replace("\\", "\\\\").replace('"', '\\"').replace("\\", "\\\\")
        module = "org.apache.kafka.common.security.plain.PlainLoginModule"
        lines = {
            "listeners": f"PLAINTEXT://127.0.0.1:{own},SASL_PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}",
            "advertised.listeners": f"PLAINTEXT://127.0.0.1:{own},SASL_PLAINTEXT://127.0.0.1:{port}",
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,SASL_PLAINTEXT:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT",
            "sasl.enabled.mechanisms": "PLAIN",
            "listener.name.sasl_plaintext.plain.sasl.jaas.config": f'{module} required user_reader="{word}";',
        }
        return plain(folder, own, controller) + "".join(f"{name}={value}\n" for name, value in lines.items())

    broker = Broker(tmp_path_factory.mktemp("guarded"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(brokers, "server_properties", with_password)
        open_address = f"127.0.0.1:{free_port()}"
        broker.start(port=int(open_address.rpartition(":")[2]))
    yield open_address, f"127.0.0.1:{port}"
    broker.stop()


def app(folder: Path, servers: str, server: TemporaryPostgres, database: str, port: int) -> None:
    place = f"host = '{server.host}', port = '{port}', database = '{database}', user = '{server.user}', password = secret('database')"
    (folder / "app.sql").write_text(
        f"""
        CREATE STREAM sales (item STRING, amount INT)
          WITH (connector = 'kafka', servers = '{servers}', topic = 'sales', user = 'reader', password = secret('kafka'));
        CREATE TABLE items (item STRING, price INT) WITH (connector = 'postgres', table = 'items', {place});
        CREATE MATERIALIZED VIEW totals AS SELECT item, sum(amount * price) AS total FROM sales JOIN items USING (item) GROUP BY item;
        CREATE MATERIALIZED VIEW raw AS SELECT item FROM sales;
        CREATE SINK out FROM totals WITH (connector = 'postgres', table = 'totals', {place});
        """,
        encoding="utf-8",
    )


def penstock(folder: Path, secrets: dict[str, str], verb: str, *arguments: str) -> str:
    """Runs a verb with the secrets in its environment; gives all that it printed."""
    environment = os.environ | QUICK | {f"PENSTOCK_SECRET_{name.upper()}": value for name, value in secrets.items()}
    command = [sys.executable, "-m", "penstock", verb, str(folder), *arguments, "-v", "--set", "log_level=DEBUG"]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, stdin=subprocess.DEVNULL, timeout=240, check=False)
    return f"{verb} {' '.join(arguments)} -> {done.returncode}\n{done.stdout}\n{done.stderr}"


def leaks(folder: Path, printed: list[str], words: list[str]) -> list[str]:
    """Where a word appears: in what was printed, or in any file below the folder, whatever it holds."""
    found = [f"printed by {text.splitlines()[0]}" for text in printed for word in words if word in text]
    for path in (path for path in folder.rglob("*") if path.is_file()):
        content = path.read_bytes()
        found += [str(path) for word in words if word.encode() in content or word.encode("utf-16-le") in content]
    return found


def test_no_secret_is_printed_or_left_behind_by_good_or_failing_connections(
    tmp_path: Path, guarded: tuple[str, str], postgres_server: TemporaryPostgres, database: str
) -> None:
    """Kafka's and Postgres' passwords work, fail and are refused; logs, checkpoints, databases and output are searched."""
    open_address, servers = guarded
    produce([json.dumps({"item": "tea", "amount": 2}).encode(), b"not json"], open_address, "sales", partitions=1)
    with postgres_server.connect(database) as connection:
        connection.execute("CREATE TABLE items AS SELECT 'tea' AS item, 3 AS price")
    app(tmp_path, servers, postgres_server, database, postgres_server.port)
    good = {"kafka": KAFKA_SECRET, "database": postgres_server.password}
    wrong = {"kafka": "canary-wrong-kafka-91c2", "database": "canary-wrong-database-91c2"}
    printed = [penstock(tmp_path, good, verb, *more) for verb, *more in (["check"], ["explain", "--json"], ["graph"], ["status", "--json"])]
    printed.append(penstock(tmp_path, good, "run", "--drain", "--metrics", "0"))
    assert "-> 0\n" in printed[-1], printed[-1]
    with postgres_server.connect(database) as connection:
        assert connection.execute("SELECT total FROM totals").fetchall() == [(6,)]
    printed.append(penstock(tmp_path, wrong, "run", "--drain", "--set", "restarts_max=0"))
    assert re.search(r"Kafka at .* refuses the login: .*[Aa]uthentication", printed[-1]), printed[-1]
    assert "password authentication failed" in printed[-1], printed[-1]
    app(tmp_path, servers, postgres_server, database, free_port())
    printed.append(penstock(tmp_path, good, "sql", "-c", "SELECT * FROM items"))
    assert "-> 3\n" in printed[-1], printed[-1]
    assert (tmp_path / ".penstock" / "logs" / "spark.log").exists()
    words = ["canary", postgres_server.password]
    assert leaks(tmp_path, printed, words) == []
    (tmp_path / ".penstock" / "planted").write_bytes(b"\0canary\0")
    assert len(leaks(tmp_path, [f"planted\n{postgres_server.password}"], words)) == 2, "the search itself must be able to find"


PLAIN = """
CREATE STREAM sales (item STRING) WITH (connector = 'kafka', servers = 'x:1', topic = 't', user = 'u', password = 'canary "1"'{mistake});
CREATE MATERIALIZED VIEW raw AS SELECT item FROM sales;
"""


@pytest.mark.parametrize("mistake", ["", ", nonsense = '1'", " nonsense = '1'", ", nonsense"])
def test_a_password_that_stands_in_the_sql_is_masked_where_its_line_is_shown(tmp_path: Path, capfd: pytest.CaptureFixture[str], mistake: str) -> None:
    (tmp_path / "app.sql").write_text(PLAIN.format(mistake=mistake), encoding="utf-8")
    for verb in ("check", "explain", "graph"):
        with pytest.raises(SystemExit) as ended:
            cli.main([verb, str(tmp_path)])
        assert ended.value.code == (2 if mistake else 0)
    shown = capfd.readouterr()
    assert "canary" not in shown.out + shown.err
    assert mistake != " nonsense = '1'" or "password = '**********'" in shown.out


@pytest.mark.parametrize(
    "address",
    ["me:canary#9@h:1/d", "me:canary/9@h:1/d", "me:9/canary@h:1/d", "me:9@canary/9@h:1/d", "me:can'ary@127.0.0.1:1/d", "me@h:1/d?password=canary"],
)
def test_a_password_that_breaks_the_address_of_the_store_is_not_quoted(tmp_path: Path, capfd: pytest.CaptureFixture[str], address: str) -> None:
    (tmp_path / "app.sql").write_text(PLAIN.format(mistake=""), encoding="utf-8")
    for verb in (["settings"], ["status", str(tmp_path)]):
        with pytest.raises(SystemExit) as ended:
            cli.main([*verb, "--set", f"store=postgres://{address}"])
        assert ended.value.code in (0, 2, 3)
    shown = capfd.readouterr()
    assert not any(word in shown.out + shown.err for word in ("canary", "can'ary"))


@pytest.mark.parametrize("address", ["postgres://me:canary@127.0.0.1:1/d", "mysql://me:canary@127.0.0.1:1/d"])
def test_a_password_in_the_address_of_the_store_is_masked(tmp_path: Path, capfd: pytest.CaptureFixture[str], address: str) -> None:
    (tmp_path / "app.sql").write_text(PLAIN.format(mistake=""), encoding="utf-8")
    for verb in (["settings"], ["status", str(tmp_path)]):
        with pytest.raises(SystemExit):
            cli.main([*verb, "--set", f"store={address}"])
    shown = capfd.readouterr()
    assert "canary" not in shown.out + shown.err
    assert "://me:******@127.0.0.1:1/d" in shown.out + shown.err


def test_no_declaration_shows_its_options_when_it_is_printed(tmp_path: Path) -> None:
    (tmp_path / "app.sql").write_text(PLAIN.format(mistake=""), encoding="utf-8")
    declared = load(tmp_path)
    assert "canary" not in repr(declared)
    assert "canary" not in repr(SourceSpec("sales", {"password": "canary"}, declared.streams["sales"].schema, tmp_path, tmp_path))
    assert "canary" not in repr(Kafka("x:1", topic="t", user="u", password="canary"))
