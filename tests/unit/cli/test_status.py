"""The exit code of `status` says to a script what to do."""

from __future__ import annotations

import pytest

from penstock.cli.status import exit_code
from penstock.observe.status import ViewStatus


@pytest.mark.parametrize(
    ("statuses", "code"),
    [
        (["running", "done", "stopped", "not run"], 0),
        ([], 0),
        (["running", "failed"], 1),
        (["killed", "done"], 7),
        (["killed", "failed"], 1),
    ],
)
def test_a_failed_view_is_1_and_a_killed_run_7(statuses: list[str], code: int) -> None:
    assert exit_code(ViewStatus(f"v{number}", "j", status) for number, status in enumerate(statuses)) == code
