"""What chaos tells, what it damages, and which lines of a log it lets pass."""

from __future__ import annotations

import json
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

from penstock.catalog import Catalog
from penstock.chaos import damage
from penstock.chaos.apps import wanted
from penstock.chaos.faults import BY_NAME
from penstock.chaos.feeder import Fed, Feeder, Files, order, payment
from penstock.chaos.logs import AtWork, _time_of, unexplained
from penstock.chaos.report import BEGIN, END, Injected, Outcome, keep, kept, markdown, p95, publish, table


def outcome() -> Outcome:
    found = Outcome("app", 7)
    found.injected = [Injected("kill-driver", 4.0), Injected("kill-driver", 6.0), Injected("zombie", None, failure="it went on")]
    return found


def test_a_run_is_one_line() -> None:
    found = outcome()
    found.injected.pop()
    assert found.line() == "seed 7: 2 faults, 0 lost, 0 duplicated, recovery p95 6.0 s"
    assert found.failures == []


def test_whatever_the_reader_saw_or_a_fault_broke_is_a_failure() -> None:
    found = outcome()
    found.seen.note("duplicated", 2, "twice")
    found.unknown = ["NullPointerException"]
    assert len(found.failures) == 3
    assert "2 duplicated" in found.line()


def test_the_object_has_the_promised_names() -> None:
    assert {"seed", "faults", "lost", "duplicated", "partial", "recovery_s"} <= outcome().as_json().keys()
    json.dumps(outcome().as_json())


def test_the_table_counts_tries_and_survivals_by_fault() -> None:
    rows = table([outcome().as_json(), outcome().as_json()])
    assert [(row["fault"], row["tried"], row["survived"]) for row in rows] == [("kill-driver", 4, 4), ("zombie", 2, 0)]
    assert "| `kill-driver` | 4 | 4 | 0 | 0 | 6.0 s |" in markdown(rows, "words")


def test_a_fault_that_could_not_be_done_is_reported_and_counts_for_nothing() -> None:
    found = outcome()
    found.injected = [Injected("kill-driver", 4.0), Injected("kill-at:sink.mid-rows", 9.0, "not reached", done=False)]
    assert found.line() == "seed 7: 1 fault, 0 lost, 0 duplicated, recovery p95 4.0 s, 1 not done"
    reported = found.as_json()
    assert [(one["fault"], one["done"]) for one in reported["faults"]] == [("kill-driver", True), ("kill-at:sink.mid-rows", False)]  # type: ignore[attr-defined]
    assert reported["recovery_s"] == {"p50": 4.0, "p95": 4.0}
    assert [(row["fault"], row["tried"]) for row in table([reported])] == [("kill-driver", 1)]


def test_what_a_run_did_wrong_as_a_whole_counts_against_its_every_fault() -> None:
    """A record that nobody can explain, a dead letter too few, an app that did not drain: any of the faults may have done it."""
    for wrong in ("unknown", "trouble"):
        found = outcome()
        found.injected.pop()
        setattr(found, wrong, ["something"])
        assert next((row["tried"], row["survived"]) for row in table([found.as_json(), outcome().as_json()])) == (4, 2)


def test_runs_are_kept_and_read_again(tmp_path: Path) -> None:
    keep(tmp_path / "runs.json", [outcome().as_json()])
    assert table(kept(tmp_path / "runs.json")) == table([outcome().as_json()])
    assert kept(tmp_path / "none.json") == []


def test_a_page_is_changed_between_its_marks_only(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"before\n{BEGIN}\nold\n{END}\nafter\n", encoding="utf-8")
    assert publish(page, "new")
    assert page.read_text(encoding="utf-8") == f"before\n{BEGIN}\nnew\n{END}\nafter\n"
    page.write_text("no marks", encoding="utf-8")
    assert not publish(page, "new")


def test_percentiles_of_few_figures_are_the_largest() -> None:
    assert p95([1.0, 9.0, 2.0]) == 9.0
    assert p95([]) == 0.0


def moment(second: int) -> float:
    return datetime(2026, 11, 16, 2, 32, second, tzinfo=UTC).timestamp()


def at_work(fault: str, since: int = 0, until: int = 59) -> list[AtWork]:
    return [AtWork(BY_NAME[fault], moment(since), moment(until))]


LAST = moment(59) + 300
FAILED = [
    "2026-11-16T02:32:42.511Z ERROR MicroBatchExecution: Query failed",
    "org.apache.spark.SparkException: it failed",
    "\tat org.apache.spark.Some.method",
    "Caused by: py4j.Py4JException: Error while sending a command.",
]
HEADLINE = " / ".join([FAILED[0], FAILED[1], FAILED[3]])


def test_a_known_exception_passes_and_an_unknown_one_does_not() -> None:
    assert unexplained(FAILED, at_work("kill-driver"), {}, LAST) == []
    assert unexplained(FAILED, at_work("duplicates"), {}, LAST) == [HEADLINE]
    other = "2026-11-16T02:32:43.511Z ERROR Executor: java.lang.NullPointerException: x"
    assert unexplained([*FAILED, other], at_work("kill-driver"), {}, LAST) == [other]


def test_a_fault_explains_only_what_was_logged_in_its_time() -> None:
    """Until a minute after all views went on."""
    assert unexplained(FAILED, at_work("kill-driver", since=44), {}, LAST) == [HEADLINE]
    late = [FAILED[0].replace("02:32", "02:33"), *FAILED[1:]]
    assert unexplained(late, at_work("kill-driver", until=50), {}, LAST) == []
    assert len(unexplained(late, at_work("kill-driver", until=30), {}, LAST)) == 1


def test_what_does_not_say_when_lies_between_what_does() -> None:
    last_line = "error: Spark's JVM has ended: it was killed"
    lines = ["02:32:10 warning spark: began", last_line, "02:32:20 warning spark: goes on"]
    assert unexplained(lines, at_work("kill-jvm", since=15, until=16), {}, LAST) == []
    assert unexplained(lines, at_work("kill-jvm", since=25), {}, LAST) == [last_line]
    assert unexplained(lines[:2], at_work("kill-jvm", since=25), {}, LAST) == [], "to the end of the log"
    assert unexplained([last_line], at_work("kill-jvm", since=25), {}, moment(20)) == [last_line]


def test_what_several_jobs_failed_of_explains_their_end() -> None:
    several = [
        "error: 2 jobs failed:",
        "  one: Spark's JVM has ended: it was killed",
        "  two: Spark's JVM has ended: it was killed",
        "hint: run again",
    ]
    assert unexplained(several, at_work("kill-jvm"), {}, LAST) == []
    assert unexplained(several, at_work("duplicates"), {}, LAST) == [" / ".join([several[0], several[3]])]


def test_that_a_task_failed_says_nothing_beside_why() -> None:
    aborted = "2026-11-16T02:32:43.600Z ERROR [7] TaskSetManager: Task 0 in stage 28.0 failed 1 times; aborting job"
    assert unexplained([aborted], at_work("duplicates"), {}, LAST) == []
    lost = ["2026-11-16T02:32:43.500Z WARN [7] TaskSetManager: Lost task 0.0 in stage 28.0", "java.lang.NullPointerException: x"]
    assert len(unexplained([*lost, aborted], at_work("duplicates"), {}, LAST)) == 1


def test_what_follows_a_harmless_line_may_be_of_another_process_and_later() -> None:
    lines = ["2026-11-16T02:32:10.000Z WARN [7] Some: harmless", "Traceback (most recent call last):", "ConnectionResetError: peer"]
    following = "2026-11-16T02:32:30.000Z WARN [7] Some: harmless"
    assert unexplained([*lines, following], at_work("kill-jvm", since=20, until=21), {}, LAST) == []
    assert len(unexplained([*lines, following], at_work("kill-jvm", since=40), {}, LAST)) == 1


def test_a_moment_is_read_from_every_kind_of_log() -> None:
    wanted = moment(10)
    local = datetime.fromtimestamp(wanted).strftime("%Y-%m-%d %H:%M:%S")  # noqa: DTZ006
    heads = ["2026-11-16T02:32:10.000Z WARN x", f"{local},000 ERROR root: x", "02:32:10 error x", json.dumps({"time": "2026-11-16T02:32:10.000Z"})]
    assert [_time_of(head, LAST) for head in heads] == [wanted] * 4
    assert _time_of("Traceback (most recent call last):", LAST) is None


def test_a_mistake_of_ours_is_no_consequence_of_a_killed_jvm() -> None:
    wrong = ["internal error: KeyError: 'x'", "02:32:20 error spark copy: Spark could not plan it"]
    assert unexplained(wrong, at_work("kill-jvm"), {}, LAST) == wrong


def test_what_the_jvm_of_a_killed_driver_says_on_its_way_out_is_explained() -> None:
    lines = [f"2026-11-16T02:32:{second}.500Z ERROR [{driver}] Executor: Pool not open" for second, driver in ((10, 7), (40, 7), (40, 8))]
    assert unexplained(lines, [], {7: moment(41)}, LAST) == [lines[0], lines[2]]


def test_own_errors_count_and_warnings_do_not() -> None:
    reported = [json.dumps({"level": level, "message": "job x is given up: why"}) for level in ("WARNING", "ERROR")]
    assert unexplained(reported, [], {}, LAST) == ["job x is given up: why"]


def checkpoint(folder: Path) -> Path:
    generation = Catalog(folder).open_generation("job", "plan").checkpoint
    for name in ("offsets/0", "offsets/10", "offsets/9", "commits/9", "metadata", "state/0/1/5_ab.changelog", "state/0/0/4_aa.changelog"):
        path = generation / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(f"content of {name}".encode())
    return generation


def test_damage_is_one_file_decided_by_the_choice_and_can_be_undone(tmp_path: Path) -> None:
    generation = checkpoint(tmp_path)
    before = {path: path.read_bytes() for path in generation.rglob("*") if path.is_file()}
    ways: Counter[str] = Counter()
    for choice in range(0, 400, 7):
        corrupted = damage.corrupt(tmp_path, ["job"], choice)
        assert corrupted is not None
        now = {path: path.read_bytes() for path in generation.rglob("*") if path.is_file()}
        assert [path for path in before if now.get(path) != before[path]] == [corrupted.path]
        assert not (corrupted.way == "removed" and corrupted.path.parent.name == "commits")
        corrupted.restore()
        ways[str(corrupted)] += 1
    assert {path: path.read_bytes() for path in generation.rglob("*") if path.is_file()} == before
    assert {text.split()[0] for text in ways} == {"offsets/10", "commits/9", f"{generation.name}/metadata", "1/5_ab.changelog", "offsets/9"}
    assert {text for text in ways if "removed" in text and "offsets" in text} == {"offsets/9 removed"}


def test_only_a_refusal_that_names_the_file_counts(tmp_path: Path) -> None:
    checkpoint(tmp_path)
    corrupted = damage.corrupt(tmp_path, ["job"], 0)
    assert corrupted is not None
    assert not corrupted.named_in("error: something is wrong")
    assert not corrupted.named_in(f"reading {corrupted.path}")
    assert corrupted.named_in(f"error: {corrupted.path} cannot be read")


def test_the_results_of_the_built_in_views_are_known() -> None:
    fed = Fed([order(n) for n in (0, 1, 2, 3, 1)], [payment(n) for n in (0, 1)])
    found = wanted(fed)
    assert found["plain"] == Counter({(0, "k0", 0): 1, (1, "k1", 1): 2, (2, "k4", 2): 1})
    assert found["joined"] == Counter({(0, 0, 1): 1, (1, 1, 2): 2})
    assert found["windowed"][("2026-01-01T00:00:00.000Z", "k1", 2, 2)] == 1
    assert found["best"] == Counter({("k2", 3): 1, ("k1", 2): 1, ("k4", 2): 1})


def test_the_feeder_remembers_all_that_it_wrote_even_twice_and_late(tmp_path: Path) -> None:
    orders = tmp_path / "orders"
    orders.mkdir()
    feeder = Feeder(Files(orders, tmp_path / "payments.log"), 20, seed=1)
    feeder.duplicate(1)
    feeder.shuffle(2)
    feeder.poison(1)
    for number in range(0, 40, 10):
        feeder._target.put(feeder._batch(number))
    lines = [line for path in sorted(orders.iterdir()) for line in path.read_bytes().splitlines()]
    assert len(lines) == len(feeder.fed.orders) + feeder.fed.poison
    assert {row["id"] for row in feeder.fed.orders} == set(range(40))
    assert {row["id"] for row in feeder.fed.payments} == set(range(40))
    assert len((tmp_path / "payments.log").read_bytes().splitlines()) == len(feeder.fed.payments)
