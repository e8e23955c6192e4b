"""What is known of a type without Spark."""

from __future__ import annotations

import pytest

from penstock.plan.expression.infer import type_of
from penstock.plan.expression.types import UNKNOWN


@pytest.mark.parametrize(
    ("text", "kind"),
    [("max(n)", "int"), ("max(n) OVER w", "int"), ("max(n) OVER (PARTITION BY k)", "int"), ("max(n) OVER", UNKNOWN)],
)
def test_a_call_has_a_type_where_nothing_but_a_whole_window_follows_it(text: str, kind: str) -> None:
    assert type_of(text, lambda parts: "int") == kind
