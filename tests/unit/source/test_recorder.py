from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.source import recorder as recording
from penstock.source.landing import land
from penstock.source.recorder import Recorder


@contextlib.contextmanager
def server(*answers: bytes) -> Iterator[int]:
    """A server that gives each connection one answer and hangs up; after the last it is gone."""
    listening = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        for answer in answers:
            connection, _ = listening.accept()
            with connection:
                connection.sendall(answer)
        listening.close()

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    yield listening.getsockname()[1]
    thread.join(10)


def landed(folder: Path) -> list[bytes]:
    return [line for file in sorted(folder.glob("*.txt")) for line in file.read_bytes().splitlines()]


def wait_for(folder: Path, count: int) -> list[bytes]:
    deadline = time.monotonic() + 10
    while len(landed(folder)) < count and time.monotonic() < deadline:
        time.sleep(0.02)
    return landed(folder)


def test_lines_are_landed_in_order_and_the_last_without_an_end_too(tmp_path: Path) -> None:
    with server("a\nü 漢\nlast".encode()) as port:
        recorder = Recorder("127.0.0.1", port, tmp_path)
        recorder.start()
        assert recorder.caught_up(10)
        assert wait_for(tmp_path, 3) == [b"a", "ü 漢".encode(), b"last"]
        recorder.stop()
    assert not list(tmp_path.glob(".*"))


def test_a_line_that_was_not_whole_when_it_stopped_is_no_record(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        recorder = Recorder("127.0.0.1", listening.getsockname()[1], tmp_path)
        recorder.start()
        connection, _ = listening.accept()
        with connection:
            connection.sendall(b"whole\na,123")
            assert wait_for(tmp_path, 1) == [b"whole"]
            recorder.stop()
    assert landed(tmp_path) == [b"whole"]


def test_it_connects_again_and_a_new_recorder_goes_on_counting(tmp_path: Path) -> None:
    with server(b"1\n", b"2\n") as port:
        recorder = Recorder("127.0.0.1", port, tmp_path)
        recorder.start()
        assert wait_for(tmp_path, 2) == [b"1", b"2"]
        recorder.stop()
    with server(b"3\n") as port:
        again = Recorder("127.0.0.1", port, tmp_path)
        again.start()
        assert wait_for(tmp_path, 3) == [b"1", b"2", b"3"]
        again.stop()
    assert sorted(file.name for file in tmp_path.iterdir()) == [f"{number:012d}.txt" for number in range(3)]


def test_it_stops_although_nobody_answers(tmp_path: Path) -> None:
    recorder = Recorder("127.0.0.1", 1, tmp_path)
    recorder.start()
    assert not recorder.caught_up(0.2)
    recorder.stop()


def test_a_driver_that_wakes_up_replaces_nothing_and_ends(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        frozen = Recorder("127.0.0.1", listening.getsockname()[1], tmp_path)
        frozen.start()
        connection, _ = listening.accept()
        with connection:
            connection.sendall(b"1\n")
            assert wait_for(tmp_path, 1) == [b"1"]
            (tmp_path / f"{1:012d}.txt").write_bytes(b"of its successor\n")
            connection.sendall(b"2\n")
            frozen._thread.join(10)
            assert not frozen._thread.is_alive()
        frozen.stop()
    assert landed(tmp_path) == [b"1", b"of its successor"]
    assert not list(tmp_path.glob(".*"))


def test_a_successor_records_on_although_the_driver_before_it_woke_up_once_more(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        successor = Recorder("127.0.0.1", listening.getsockname()[1], tmp_path)
        successor.start()
        connection, _ = listening.accept()
        with connection:
            (tmp_path / f"{0:012d}.txt").write_bytes(b"of the one before\n")
            connection.sendall(b"1\n")
            assert wait_for(tmp_path, 2) == [b"of the one before", b"1"]
            connection.sendall(b"2\n")
            assert wait_for(tmp_path, 3) == [b"of the one before", b"1", b"2"]
        successor.stop()


def test_no_line_is_lost_while_the_disk_is_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    """And the sender's connection stays, so that no line is torn."""
    tries: list[Path] = []

    def full_twice(file: Path, content: bytes, *, synced: bool) -> bool:
        tries.append(file)
        if len(tries) < 3:
            raise OSError(28, "No space left on device")
        return land(file, content, synced=synced)

    monkeypatch.setattr(recording, "land", full_twice)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        recorder = Recorder("127.0.0.1", listening.getsockname()[1], tmp_path)
        recorder.start()
        connection, _ = listening.accept()
        with connection:
            connection.sendall(b"one\ntw")
            assert wait_for(tmp_path, 1) == [b"one"]
            connection.sendall(b"o\n")
            assert wait_for(tmp_path, 2) == [b"one", b"two"]
            recorder.stop()
    assert [record.message.split(":")[0] for record in caplog.records if "No space left" in record.message] == ["cannot record 127.0.0.1"] * 2


def test_what_a_full_disk_does_not_take_at_the_end_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def full(file: Path, content: bytes, *, synced: bool) -> bool:
        recorder._stopping.set()
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(recording, "land", full)
    with server(b"1\n2\n") as port:
        recorder = Recorder("127.0.0.1", port, tmp_path)
        recorder.start()
        recorder._thread.join(10)
    assert [record.message.split("; ")[-1] for record in caplog.records if record.levelname == "WARNING"] == ["2 lines are lost"]
