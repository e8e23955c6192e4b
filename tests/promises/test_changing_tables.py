"""Tables that change: what was joined is known and kept, a change is reported, and a view can be computed again."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import pytest

from penstock.testing.trial import Trial
from penstock.verify.report import Verdict
from penstock.verify.run import verify

if TYPE_CHECKING:
    from penstock.testing.postgres import TemporaryPostgres

SHOP = """
CREATE STREAM orders (customer STRING, amount INT) WITH (connector = 'files', path = 'orders', format = 'json');
CREATE TABLE customers (customer STRING, country STRING) WITH ({table});
CREATE MATERIALIZED VIEW spend AS SELECT country, sum(amount) AS total FROM orders JOIN customers USING (customer) GROUP BY country;
CREATE MATERIALIZED VIEW sold AS SELECT o.amount, c.country FROM orders AS o LEFT JOIN customers AS c ON o.customer = c.customer;
CREATE MATERIALIZED VIEW best AS SELECT country, sum(amount) AS total FROM orders JOIN customers USING (customer) GROUP BY country
  ORDER BY total DESC LIMIT 1;
"""
FILES = "connector = 'files', path = 'customers.csv', format = 'csv', header = 'true'"


def customers(trial: Trial, **countries: str) -> None:
    trial.write("customers.csv", "\n".join(["customer,country", *(f"{name},{country}" for name, country in countries.items())]) + "\n")


def spend(trial: Trial) -> dict[str, int]:
    return {row["country"]: row["total"] for row in trial.rows("spend")}


def verdicts(trial: Trial) -> dict[str, Verdict]:
    with trial.engine() as engine:
        found = {verdict.view: verdict for verdict in verify(engine, session=trial.session)}
    assert {name: verdict.as_json() for name, verdict in found.items() if not verdict.equal} == {}
    return found


def test_rows_keep_the_values_of_the_table_that_their_epoch_joined_and_verify_says_so(trial: Trial, caplog: pytest.LogCaptureFixture) -> None:
    """Between runs and in the middle of one: the change is reported once, with the way to compute the view again."""
    trial.write("app.sql", SHOP.format(table=FILES))
    customers(trial, ana="PT", bo="SE")
    trial.feed("orders", {"customer": "ana", "amount": 10}, {"customer": "bo", "amount": 40})
    trial.drain()
    customers(trial, ana="ES", bo="SE")
    verdicts(trial)
    trial.feed("orders", {"customer": "ana", "amount": 5})
    with caplog.at_level(logging.WARNING, "penstock"):
        trial.drain()
        trial.drain()
    warnings = [record.getMessage() for record in caplog.records if "`customers` has changed" in record.getMessage()]
    assert len(warnings) == 3, "once for each job"
    assert "penstock rebuild" in warnings[0]
    assert spend(trial) == {"PT": 10, "SE": 40, "ES": 5}
    found = verdicts(trial)
    assert all("table `customers` changed at epoch 1" in note for verdict in found.values() for note in verdict.notes)
    assert found["spend"].notes
    with trial.live() as running:
        running.until(lambda: len(running.last) == 3 and all(job.status == "running" for job in running.last.values()))
        customers(trial, ana="FR", bo="SE", eve="NO")
        trial.feed("orders", {"customer": "ana", "amount": 7}, {"customer": "eve", "amount": 1})
        running.until(lambda: spend(trial).get("FR") == 7)
        running.until(lambda: all(job.epoch >= 2 for job in running.last.values()))
        assert {job.restarts for job in running.last.values()} == {0}
    assert spend(trial) == {"PT": 10, "SE": 40, "ES": 5, "FR": 7, "NO": 1}
    assert "epoch 1, 2" in verdicts(trial)["sold"].notes[0]


def test_a_view_is_rebuilt_from_history_when_that_is_asked(trial: Trial) -> None:
    """The old rows can be read until the next run, which has the new ones; the other views go on where they are."""
    trial.write("app.sql", SHOP.format(table=FILES))
    customers(trial, ana="PT")
    trial.feed("orders", {"customer": "ana", "amount": 10})
    trial.drain()
    customers(trial, ana="ES")
    with trial.engine() as engine:
        engine.rebuild("spend")
    assert spend(trial) == {"PT": 10}
    seen = trial.drain()
    assert spend(trial) == {"ES": 10}
    assert (seen.last["spend"].rows, seen.last["sold"].rows) == (1, 0)
    verdicts(trial)


def test_a_changed_table_of_postgres_is_distinguished_too(trial: Trial, postgres_server: TemporaryPostgres, database: str) -> None:
    options = ", ".join(f"{name} = '{value}'" for name, value in postgres_server.parameters(database).items())
    trial.write("app.sql", SHOP.format(table=f"connector = 'postgres', table = 'customers', {options}"))
    with postgres_server.connect(database) as connection:
        connection.execute("CREATE TABLE customers AS SELECT 'ana' AS customer, 'PT' AS country")
        trial.feed("orders", {"customer": "ana", "amount": 10})
        trial.drain()
        connection.execute("UPDATE customers SET country = 'ES'")
    trial.feed("orders", {"customer": "ana", "amount": 5})
    trial.drain()
    assert spend(trial) == {"PT": 10, "ES": 5}
    assert "`customers` changed at epoch 1" in verdicts(trial)["spend"].notes[0]
