"""What a file, a folder or a topic seems to hold: a look at a bounded sample, without Spark.

`sample` reads some bytes, `delimited` and `json_records` find the records in them, `times` and `types` what their values are, `propose` makes a
declaration of it and says what it assumed, `causes` says what a declaration that reads nothing lacks.
"""
