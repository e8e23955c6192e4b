"""Word count in the Python face: the same plan as `folder/app.sql`."""

from __future__ import annotations

import penstock as ps

app = ps.App("wordcount")
lines = app.stream("lines", ps.Files("../input", format="text"), "value STRING")
words = lines.select(word="explode(split(lower(value), ' '))")
app.view("word_count", words.where("word <> ''").group_by("word").agg(n="count(*)"))
