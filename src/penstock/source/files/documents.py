"""Files of json that are texts of many lines: one record, an array of records, or records one after another.

Every record of a file becomes one `__value`, with its number in the file; a text that is no JSON stays whole, and is one bad record.
"""

from __future__ import annotations

from pyspark.sql import DataFrame

# Line breaks within a text of JSON are written \\n: so where a real one stands between two braces, a record ends there.
_TEXT = r"regexp_replace(value, '^\\uFEFF', '')"
_IN_ARRAY = rf"if(ltrim({_TEXT}) LIKE '[%', {_TEXT}, concat('[', regexp_replace({_TEXT}, '\\}}[ \\t\\r]*\\n\\s*\\{{', '}},{{'), ']'))"
# A variant keeps every digit of a number, which the same as a text would not.
_RECORDS = f"coalesce(transform(from_json({_IN_ARRAY}, 'array<variant>'), one -> to_json(one)), array({_TEXT}))"
_PLACE = "regexp_replace(__position, '\\\\}$', concat(',\"element\":', place + 1, '}'))"


def records(texts: DataFrame) -> DataFrame:
    """`__value` and `__position` of the records in whole files (`value`, `__position`)."""
    found = texts.selectExpr(f"posexplode({_RECORDS}) AS (place, __value)", "__position")
    return found.selectExpr("__value", f"{_PLACE} AS __position")
