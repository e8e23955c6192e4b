from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from penstock.settings import Settings, load
from penstock.spark.session.pinned import driver_address, local_cores, session_conf, shuffle_partitions

JARS = [Path("/cache/a.jar"), Path("/cache/b.jar")]


def settings(**chosen: str) -> Settings:
    return load(overrides=chosen)


def conf(**chosen: str) -> dict[str, str]:
    return session_conf(settings(**chosen), Path("/state"), JARS, ["-Xlog:disable"])


@pytest.mark.parametrize(("master", "cores"), [("local", 1), ("local[3]", 3), ("local[2,4]", 2), ("spark://h:7077", None), ("yarn", None)])
def test_the_cores_of_a_master_are_read_from_its_name(master: str, cores: int | None) -> None:
    assert local_cores(master) == cores


def test_a_star_means_the_cores_that_this_process_may_use() -> None:
    assert local_cores("local[*]") == len(os.sched_getaffinity(0))


@pytest.mark.parametrize(
    ("master", "chosen", "partitions"),
    [("local[2]", "0", 2), ("local[64]", "0", 8), ("spark://h:7077", "0", 8), ("local[2]", "5", 5), ("yarn", "30", 30)],
)
def test_few_partitions_unless_more_are_asked_for(master: str, chosen: str, partitions: int) -> None:
    assert shuffle_partitions(settings(master=master, shuffle_partitions=chosen)) == partitions


def test_state_is_kept_in_rocksdb_with_a_change_log_and_checksums() -> None:
    found = conf(master="local[2]")
    assert found["spark.sql.streaming.stateStore.providerClass"].endswith(".RocksDBStateStoreProvider")
    assert found["spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled"] == "true"
    assert found["spark.sql.streaming.stateStore.checkpointFormatVersion"] == "2"
    assert found["spark.sql.streaming.stateStore.rowChecksum.enabled"] == "true"
    assert found["spark.sql.session.timeZone"] == "UTC"


def test_an_idle_view_looks_for_rows_as_often_as_the_setting_says() -> None:
    assert conf()["spark.sql.streaming.pollingDelay"] == "100ms"
    assert conf(poll_ms="10")["spark.sql.streaming.pollingDelay"] == "10ms"


def test_a_local_session_listens_on_the_loopback_address_only_and_has_no_console() -> None:
    found = conf(master="local[*]")
    assert found["spark.driver.host"] == found["spark.driver.bindAddress"] == "127.0.0.1"
    assert found["spark.ui.enabled"] == "false"
    assert "spark.jars" not in found


def test_sql_cannot_read_a_path_and_options_that_are_secrets_are_not_shown() -> None:
    found = conf()
    assert found["spark.sql.runSQLOnFiles"] == "false"
    for word in ("password", "token", "jaas"):
        assert word in found["spark.sql.redaction.options.regex"]


def test_kafka_clients_may_not_load_login_modules_or_fetch_tokens_anywhere() -> None:
    on_driver, on_executor = conf()["spark.driver.extraJavaOptions"], conf(master="spark://127.0.0.1:7077")["spark.executor.extraJavaOptions"]
    for options in (on_driver, on_executor):
        assert "JndiLoginModule" in options
        assert "oauthbearer.allowed.urls=none" in options


def test_a_cluster_is_sent_the_jars_and_the_driver_is_reached_at_the_address_that_leads_to_the_master() -> None:
    found = conf(master="spark://127.0.0.1:7077", executor_memory="3g")
    assert found["spark.jars"] == "file:///cache/a.jar,file:///cache/b.jar"
    assert found["spark.executor.extraClassPath"] == found["spark.driver.extraClassPath"] == "/cache/a.jar:/cache/b.jar"
    assert found["spark.driver.host"] == "127.0.0.1"
    assert found["spark.executor.memory"] == "3g"
    assert "spark.executorEnv.PYTHONPATH" not in found


def test_other_clusters_find_the_driver_by_themselves() -> None:
    assert driver_address("yarn") is None
    assert "spark.driver.host" not in conf(master="k8s://https://h:443")


def test_a_master_whose_name_is_unknown_leaves_the_address_to_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise socket.gaierror("unknown")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    assert driver_address("spark://nowhere:7077") is None


def test_without_the_jars_spark_keeps_its_own_file_system() -> None:
    found = session_conf(settings(), Path("/state"), [], [])
    assert "spark.hadoop.fs.file.impl" not in found
    assert "spark.driver.extraClassPath" not in found


def test_an_option_with_a_space_in_it_is_quoted_for_the_launcher() -> None:
    found = session_conf(settings(), Path("/state"), [], ["-Dpenstock.log=/my state/spark.log"])
    assert '"-Dpenstock.log=/my state/spark.log"' in found["spark.driver.extraJavaOptions"]


def test_a_stop_waits_as_long_as_the_setting_says() -> None:
    assert conf(stop_timeout_s="2.5")["spark.sql.streaming.stopTimeout"] == "2500ms"
