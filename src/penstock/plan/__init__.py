"""SQL or Python to one logical plan; checks; where to cut it. No Spark here.

Reading order of the SQL front end: `nodes` and `declare` are the values; `words`, `grammar`, `columns` and `scalar` read expressions
as text; `passage` and `reading` hold a file while it is read; `tumble`, `from_clause`, `window_from`, `block` and `select` read
a query; `definition` and `statements` read a file; `forbid` closes the ways out; `python_file` and `load` read a whole app.
"""
