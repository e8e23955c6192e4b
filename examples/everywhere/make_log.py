"""Writes a service log of any length, the same for the same numbers: python make_log.py LINES [SEED] > big.log"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

SERVICES = ("cart", "payments", "search", "login", "l'épicerie")
LEVELS = ("INFO", "INFO", "INFO", "WARN", "ERROR")


def log_lines(count: int, seed: int = 1) -> Iterator[str]:
    """`count` lines of a busy afternoon: time, level, host, service, message."""
    chance = random.Random(seed)
    at = datetime(2024, 5, 1, 12, tzinfo=UTC)
    for number in range(count):
        at += timedelta(milliseconds=chance.randrange(900))
        level, host, service = chance.choice(LEVELS), f"web-{chance.randrange(9)}", chance.choice(SERVICES)
        yield f"{at:%Y-%m-%dT%H:%M:%SZ} {level} {host} {service} request {number} took {chance.randrange(1, 900)} ms"


if __name__ == "__main__":
    for line in log_lines(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 1):
        print(line)
