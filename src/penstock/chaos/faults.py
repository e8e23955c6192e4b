"""What can go wrong: every fault by name, in words, with what it needs and what it may leave in the logs."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from penstock.crash_points import POINTS
from penstock.errors import NameFault

KILL_AT = "kill-at:"

# What an app must offer for a fault, and what to say where it does not.
NEEDS: Mapping[str, str] = {
    "broker": "chaos kills only a broker that it started, or the development broker of this state folder",
    "postgres": "chaos kills only a Postgres that it started",
    "cluster": "the app does not run on a cluster that chaos started",
    "feeder": "chaos feeds only its built-in apps, so it cannot put rows into this app's sources",
    "own-disk": "the state folder is not on a small file system of its own, which only root can make",
    "sink": "the app has no sink whose transaction could be interrupted",
    "python-worker": "no Python worker runs: the app's views are Spark's own operators",
    "server": "chaos slows only a broker or a Postgres that it started",
    "transactions": "the app has no exactly-once sink on a broker that chaos started",
}

_KAFKA_AWAY = (
    r"KafkaError|KafkaException|kafka at |Kafka does not answer|cannot write to topic|org\.apache\.kafka|Connection to node|Disconnect",
    r"TimeoutException|_TRANSPORT|_TIMED_OUT|Kafka broker|Broker transport|brokers? (?:are )?down|UnknownTopicOrPartition|NetworkClient",
    r"[Cc]oordinator (?:load|not|un)|TransactionalId|transactional id|ProducerFenced|InvalidProducerEpoch|INVALID_TXN|INVALID_PRODUCER",
)
_POSTGRES_AWAY = (r"Postgres at |psycopg|server closed the connection|terminating connection|consuming input failed|using the results store",)
_DRIVER_GONE = (
    r"Py4JNetwork|Py4JException|Py4JError|Answer from Java side is empty|Error while sending|SocketException|Connection refused|ConnectionReset",
    # A JVM that ends by itself while tasks still run takes their files and blocks away.
    r'SparkContext\.\w+\(\)" is null',
    r"blockmgr-|Failed to create input stream|TaskCompletionListener|INTERNAL_ERROR_STORAGE|Block broadcast",
)
_FENCED = (
    r"another driver has taken over|was taken over|FencedError|[Cc]oncurrent|CONCURRENT_STREAM_LOG_UPDATE|fenced|FENCED|Multiple streaming jobs",
    r"terminating connection due to administrator command",  # its successor ends the session that it was frozen in
)
_WOKEN = (r"TimeoutException|Timeout of|RpcEndpointNotFound|thrown in awaitResult|[Hh]eartbeat",)  # to it, all that it waited for is overdue
_DISK = (r"No space left|ENOSPC|database or disk is full|disk I/O error|cannot be written|cannot write|unable to open database",)
_DAMAGED = (r"[Cc]hecksum|cannot be read|EOFException|Malformed|corrupt|CORRUPT|Incomplete log file|does not exist|FileNotFound|the store has epoch",)
_DAMAGED_STATE = (
    r"CANNOT_LOAD_STATE_STORE|CANNOT_READ|StateStore|RocksDB|state store|Failed to read|ZipException|CheckpointFile|is damaged|is missing",
)
_CLUSTER = (
    r"Lost executor|ExecutorLost|ExecutorDead|executor|Lost task|FetchFailed|Worker|worker lost|RpcEndpoint|Connection reset|heartbeat|Block",
)


@dataclass(frozen=True)
class Fault:
    """One kind of fault; `known` are patterns of what it may leave in the logs while it is at work, everything else there fails the run."""

    name: str
    words: str
    needs: tuple[str, ...] = ()
    known: tuple[str, ...] = ()

    @property
    def point(self) -> str | None:
        """The named point at which the driver kills itself, for a fault that is one."""
        return self.name.removeprefix(KILL_AT) if self.name.startswith(KILL_AT) else None


def _at(point: str, words: str) -> Fault:
    return Fault(f"{KILL_AT}{point}", f"kill -9 where {words}", ("sink",) if point.startswith("sink.") else (), _DRIVER_GONE)


FAULTS: tuple[Fault, ...] = (
    Fault("kill-driver", "kill -9 of the driver's Python process", (), _DRIVER_GONE),
    Fault("kill-jvm", "kill -9 of the driver's JVM", (), (*_DRIVER_GONE, r"Spark's JVM has ended")),
    Fault("kill-python-worker", "kill -9 of a Python worker", ("python-worker",), (r"Python worker|PythonException|Lost task|EOFException",)),
    Fault("kill-executor", "kill -9 of an executor of a cluster", ("cluster",), _CLUSTER),
    Fault("kill-worker", "kill -9 of a worker of a cluster with its executors; another joins", ("cluster",), _CLUSTER),
    Fault("kill-broker", "kill -9 of the broker, started again within seconds", ("broker",), _KAFKA_AWAY),
    Fault("kill-postgres", "kill -9 of Postgres and all its processes, started again within seconds", ("postgres",), _POSTGRES_AWAY),
    *(_at(point, words) for point, words in POINTS),
    Fault(
        "zombie",
        "the driver is stopped in its tracks, a second takes over, the first wakes up: it must be fenced",
        (),
        (*_FENCED, *_DRIVER_GONE, *_WOKEN),
    ),
    Fault("two-drivers", "two drivers are started at once: one goes on, the other says that the folder is in use", (), (r"is in use by",)),
    Fault(
        "disk-full",
        "the state folder's disk is full for some seconds",
        ("own-disk",),
        (*_DISK, *_DAMAGED, *_DAMAGED_STATE, r"StateError|EngineError"),
    ),
    Fault(
        "corrupt-checkpoint",
        "a file of the checkpoint is cut short, changed or removed: the run refuses and names it; the file comes back",
        (),
        (*_DAMAGED, *_DAMAGED_STATE),
    ),
    Fault("duplicates", "rows arrive twice", ("feeder",)),
    Fault("disorder", "rows arrive out of order, within the lateness", ("feeder",)),
    Fault("poison-rows", "rows arrive that are no JSON or have wrong types: they become dead letters", ("feeder",), (r"dead letter|did not decode",)),
    Fault("slow-sink", "the broker or Postgres works a tenth of the time", ("server",), (*_KAFKA_AWAY, *_POSTGRES_AWAY)),
    Fault("hung-sink", "the broker or Postgres hangs, its connections open", ("server",), (*_KAFKA_AWAY, *_POSTGRES_AWAY)),
    Fault("broker-pause", "the broker hangs longer than a transaction may last", ("transactions",), (*_KAFKA_AWAY, *_FENCED)),
)
BY_NAME: Mapping[str, Fault] = {fault.name: fault for fault in FAULTS}


def chosen(names: Iterable[str]) -> list[Fault]:
    """The faults of those names; `kill-at` means one of each point. NameFault for a name that there is not."""
    found: list[Fault] = []
    for name in names:
        if name == KILL_AT.rstrip(":"):
            found += [fault for fault in FAULTS if fault.point]
        elif name in BY_NAME:
            found.append(BY_NAME[name])
        else:
            near = difflib.get_close_matches(name, BY_NAME, n=1)
            raise NameFault(f"there is no fault `{name}`", hint=f"did you mean `{near[0]}`?" if near else "`penstock chaos --list` shows them")
    return found


def fitting(faults: Iterable[Fault], offered: Iterable[str]) -> tuple[list[Fault], dict[str, str]]:
    """Those that an app with these `offered` parts can have, and why each of the others is left out."""
    there = set(offered)
    fit: list[Fault] = []
    left: dict[str, str] = {}
    for fault in faults:
        missing = [need for need in fault.needs if need not in there]
        if missing:
            left[fault.name] = NEEDS[missing[0]]
        else:
            fit.append(fault)
    return fit, left
