"""One text for a bag of rows, whatever their order and whoever computed them: equal only where the rows are."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable
from typing import Any

_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_DECIMALS = 4


def of_lines(lines: Iterable[str]) -> str:
    """Of rows as JSON objects, one a line."""
    import pyarrow.json

    text = "\n".join(lines)
    if not text:
        return "0 rows"
    read = pyarrow.json.ReadOptions(block_size=1 << 26)
    plain = pyarrow.json.ParseOptions(newlines_in_values=False)
    return of_frame(pyarrow.json.read_json(io.BytesIO(text.encode()), read, plain).to_pandas())


def of_frame(frame: Any) -> str:
    """Of a pandas frame: times to the millisecond, numbers to four decimals, so that a decimal, its text and a float are one."""
    import numpy as np
    import pandas as pd

    if not len(frame):
        return "0 rows"
    columns = {}
    for name in sorted(frame.columns):
        values = frame[name]
        if _is_time(values):
            columns[name] = pd.to_datetime(values, utc=True, format="ISO8601").dt.tz_localize(None).astype("datetime64[ms]").astype("int64")
            continue
        try:
            numbers = pd.to_numeric(values).astype("float64")
            columns[name] = np.round(numbers, _DECIMALS) + 0.0
        except (ValueError, TypeError):
            columns[name] = values.astype(str)
    hashes = pd.util.hash_pandas_object(pd.DataFrame(columns), index=False).to_numpy(dtype="uint64")
    with np.errstate(over="ignore"):
        return f"{len(frame)} rows {int(hashes.sum(dtype='uint64')):016x}"


def _is_time(values: Any) -> bool:
    """A time or a day, as a value or as a text: readers of JSON differ in what they make of the text."""
    if values.dtype.kind == "M":
        return True
    first = values.first_valid_index()
    return first is not None and isinstance(values[first], str) and _DATE.match(values[first]) is not None
