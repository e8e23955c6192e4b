from __future__ import annotations

from penstock.verify.compare import Comparison
from penstock.verify.positions import Origin, in_words
from penstock.verify.report import SHOWN_MAX, Verdict, proved, summary
from penstock.verify.rows import Row

GOOD = Verdict("totals", None, "store", 4, Comparison(3), late=2)
BAD = Verdict(
    "totals",
    "sums",
    "kafka",
    4,
    Comparison(1, (Row('{"item":"tea"}'),), (Row('{"item":"salt"}', "sums partition 0 offset 7", 2),), ((Row('{"n":1}'), Row('{"n":2}', "there")),)),
    delivery="exactly-once",
    origins={'{"item":"tea"}': Origin(3, ("topic sales partition 0 offset 12",))},
)


def test_equal_says_how_much_and_how_many_late_rows_were_accounted_for() -> None:
    (line,) = GOOD.in_words()
    assert "totals in the results store: 3 rows equal as of epoch 4, 2 late rows accounted for" in line
    assert GOOD.as_json()["equal"] is True


def test_every_fault_is_reported_with_its_place_and_the_input_behind_it() -> None:
    text = "\n".join(BAD.in_words())
    assert "1 missing, 1 extra, 1 different" in text
    assert "of epoch 3: topic sales partition 0 offset 12" in text
    assert 'extra      {"item":"salt"}  at sums partition 0 offset 7' in text
    assert 'different  {"n":2}  at there, should be {"n":1}' in text


def test_the_json_keeps_its_contract() -> None:
    reported = BAD.as_json()
    assert {name: reported[name] for name in ("view", "sink", "rows", "missing", "extra", "different", "equal")} == {
        "view": "totals",
        "sink": "sums",
        "rows": 1,
        "missing": 1,
        "extra": 1,
        "different": 1,
        "equal": False,
    }
    assert reported["faults"] == [
        {"fault": "missing", "expected": '{"item":"tea"}', "epoch": 3, "input": ["topic sales partition 0 offset 12"]},
        {"fault": "extra", "found": '{"item":"salt"}', "place": "sums partition 0 offset 7", "epoch": 2, "input": []},
        {"fault": "different", "expected": '{"n":1}', "found": '{"n":2}', "place": "there", "epoch": None, "input": []},
    ]


def test_of_many_faults_the_first_are_reported() -> None:
    many = Verdict("v", None, "store", 0, Comparison(0, tuple(Row(str(number)) for number in range(100))))
    assert len(many.as_json()["faults"]) == SHOWN_MAX  # type: ignore[arg-type]
    assert "100 missing" in many.in_words()[0]
    assert "... and more" in many.in_words()[-1]


def test_a_place_that_cannot_be_read_back_is_neither_equal_nor_not() -> None:
    verdict = Verdict("v", "shown", "console", -1, Comparison(), unread="a console cannot be read back")
    assert verdict.as_json()["equal"] is None
    assert "not compared" in verdict.in_words()[0]
    assert summary([GOOD, verdict]) == "verified: 3 rows in 1 place are what a batch run over the same input gives; 1 place not compared"
    assert proved([GOOD, verdict])


def test_to_have_compared_nothing_is_no_success() -> None:
    verdict = Verdict("v", "shown", "console", -1, Comparison(), unread="a console cannot be read back")
    assert not proved([verdict])
    assert summary([verdict]).startswith("NOTHING was verified; 1 place not compared")
    assert proved([GOOD])
    assert not proved([GOOD, BAD])


def test_the_summary_counts_what_differs() -> None:
    assert summary([GOOD, BAD]) == "NOT equal: 1 of 2 places differ; 1 missing, 1 extra, 1 different rows"


def test_a_sink_that_has_lost_epochs_is_not_equal_though_no_row_is_missing() -> None:
    lost = Verdict("totals", "sums", "files", 4, Comparison(3), refused="epochs up to 4 were delivered to it; restore it")
    assert (lost.equal, lost.as_json()["equal"], lost.as_json()["refused"]) == (False, False, "epochs up to 4 were delivered to it; restore it")
    assert lost.in_words()[-1].strip() == "a run refuses it: epochs up to 4 were delivered to it; restore it"
    assert summary([GOOD, lost]) == "NOT equal: 1 of 2 places differ; 0 missing, 0 extra, 0 different rows; a run refuses 1 sink"


def test_positions_are_reported_in_words() -> None:
    found = in_words(['{"topic":"sales","partition":1,"offset":7}', '{"row":3}', None, '{"file":"/gone/a.json"}'], [b"", b"", b"", b""])
    assert found == ("topic sales partition 1 offset 7", "row 3", "/gone/a.json")
