"""SQL or Python to one logical plan; checks; where to cut it. No Spark here.

Reading order: `nodes` and `declare` are the values; `grammar`, `words`, `columns` and `scalar` read expressions;
`select`, `statements` and `forbid` read SQL; `load` reads a whole app.
"""
