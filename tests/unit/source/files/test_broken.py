from __future__ import annotations

import os
from pathlib import Path

import pytest

from penstock.source.files.broken import BrokenFiles, failed_to_read, is_out_of_reach

FAILED = """An error occurred while calling o1.getResult.
: org.apache.spark.SparkException: [FAILED_READ_FILE.NO_HINT] Encountered error while reading file s3a://a/b.json.  SQLSTATE: KD001
\tat py4j.ClientServerConnection.sendCommand(ClientServerConnection.java:246)
Caused by: {}
"""


@pytest.mark.parametrize(
    ("cause", "elsewhere"),
    [
        ("java.io.EOFException: Unexpected end of input stream", False),
        ("org.apache.hadoop.fs.ChecksumException: Checksum error: /a/b.json at 0", False),
        ("java.net.UnknownHostException: far", True),
        ("java.net.SocketTimeoutException: Read timed out", True),
        ("org.apache.hadoop.hdfs.BlockMissingException: Could not obtain block", True),
    ],
)
def test_a_file_that_only_cannot_be_reached_is_not_a_broken_one(cause: str, elsewhere: bool) -> None:
    error = Exception(FAILED.format(cause))
    assert failed_to_read(error)
    assert is_out_of_reach(error) is elsewhere


def test_a_broken_file_that_was_rewritten_is_not_known_to_be_broken(tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    file.write_text("x")
    known = BrokenFiles()
    known.add(str(file), "why")
    known.add("hdfs://far/b.json", "why not")
    assert (known.reason(str(file)), known.reason("hdfs://far/b.json"), known.reason("other")) == ("why", "why not", None)
    os.utime(file, (1, 1))
    assert known.reason(str(file)) is None
