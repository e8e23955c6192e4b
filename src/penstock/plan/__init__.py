"""SQL or Python to one logical plan; checks; where to cut it. No Spark here.

Reading order: `model/` has the values (`nodes`, `declare`); `expression/` reads what an expression says; `sql/` reads a file of SQL and
`python/` is the fluent face, both giving the same values; `check/` finds what is wrong with them, `cut/` decides what Spark maintains. `load`
reads a whole app, `added` a statement that comes while it runs.
"""
