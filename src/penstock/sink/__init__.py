"""Where results leave: the sinks that deliver a view's change log, each epoch once where they can promise it.

`options` is what can be known without Spark or a database; `spec` says what a sink is given and what it must do; `open` opens one by its
connector: `kafka/`, `postgres/`, `sqlite/`, `files/`, `callback` and `console`. `arrow_rows` turns changes into columns.
"""
