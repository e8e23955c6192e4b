"""A bounded memory of what was read last."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Any


class Recent:
    """What was asked for last, up to a weight; any thread may ask. What is heavier than a quarter of it is not kept."""

    def __init__(self, weight_max: int) -> None:
        self._weight_max, self._weight = weight_max, 0
        self._guard = threading.Lock()
        self._known: OrderedDict[tuple[object, ...], tuple[int, Any]] = OrderedDict()

    def get(self, key: tuple[object, ...]) -> Any:
        """None where it is not known."""
        with self._guard:
            if key not in self._known:
                return None
            self._known.move_to_end(key)
            return self._known[key][1]

    def put(self, key: tuple[object, ...], found: object, weight: int) -> None:
        if weight > self._weight_max // 4:
            return
        with self._guard:
            if key not in self._known:
                self._known[key] = (weight, found)
                self._weight += weight
            while self._weight > self._weight_max:
                _, (dropped, _) = self._known.popitem(last=False)
                self._weight -= dropped
