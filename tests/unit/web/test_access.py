from __future__ import annotations

from pathlib import Path

import pytest

from penstock.errors import OptionFault
from penstock.web.access import COOKIE, Access, made_token, read_token
from penstock.web.guard import Rate


def test_the_token_or_a_session_opens_and_nothing_else() -> None:
    access = Access("0123456789")
    assert access.is_allowed("Bearer 0123456789", None)
    assert access.is_allowed("bearer  0123456789", None)
    for wrong in (None, "", "Bearer", "Bearer 012345678", "Basic 0123456789", "0123456789"):
        assert not access.is_allowed(wrong, None)
    session = access.new_session()
    assert access.is_allowed(None, f"{COOKIE}={session}")
    assert Access("0123456789").is_session(session)
    assert not Access("another token").is_session(session)
    assert not access.is_session("99999999999." + session.partition(".")[2])
    assert not access.is_session("1.x")


def test_a_code_logs_in_once() -> None:
    access = Access("0123456789")
    code = access.new_code()
    assert (access.redeem("x"), access.redeem(code), access.redeem(code)) == (False, True, False)


def test_a_token_is_one_line_and_made_for_its_owner_alone(tmp_path: Path) -> None:
    file = tmp_path / "token"
    token = made_token(file)
    assert (made_token(file), file.stat().st_mode & 0o777) == (token, 0o600)
    for text in ("", "short", "two\nlines-of-it", "has spaces in it"):
        file.write_text(text)
        with pytest.raises(OptionFault):
            read_token(file)


def test_a_rate_lets_a_burst_pass_and_says_how_long_to_wait() -> None:
    rate = Rate(10, 3)
    assert [rate.wait_s() for _ in range(3)] == [0, 0, 0]
    assert 0 < rate.wait_s() <= 0.1
