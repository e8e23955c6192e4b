"""Where the log is: `small.log` beside this file, or the file that SERVICE_LOG names. It is followed while it grows."""

from __future__ import annotations

import os

import penstock as ps

app = ps.App("everywhere")
app.stream("log", ps.Files(os.environ.get("SERVICE_LOG", "small.log"), format="text", tail=True), "value STRING")
