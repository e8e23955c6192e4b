"""Which class keeps a view up to date: the one place that tells strategies apart."""

from __future__ import annotations

from typing import assert_never

from pyspark.sql import SparkSession

from penstock.plan.cut.decide import Strategy as Name
from penstock.spark.compile.frames import AppContext
from penstock.spark.compile.lower import Lower
from penstock.spark.run.epoch_input import EpochInput
from penstock.spark.run.strategy.direct import Direct, Unstored
from penstock.spark.run.strategy.gathered import Gathered
from penstock.spark.run.strategy.kept import Kept
from penstock.spark.run.strategy.protocol import Strategy
from penstock.spark.run.strategy.recomputed import Recomputed
from penstock.spark.run.strategy.staged import Staged
from penstock.store.protocol import Store


def open_strategy(batch_session: SparkSession, app: AppContext, lower: Lower, history: EpochInput, store: Store) -> Strategy:
    """The strategy of the view that owns a job; analyses its plans, so that a mistake shows before the first row."""
    match lower.member.cut.strategy:
        case Name.STATELESS | Name.INCREMENTAL:
            return Direct(lower) if lower.member.stored else Unstored(lower)
        case Name.KEPT:
            return Kept(batch_session, app, lower, store)
        case Name.STAGED:
            return Staged(batch_session, app, lower, store)
        case Name.GATHERED:
            return Gathered(batch_session, app, lower)
        case Name.RECOMPUTE:
            return Recomputed(batch_session, app, lower, history)
        case Name.ON_VIEW:
            raise AssertionError(f"view `{lower.member.name}` follows another and owns no job")
        case strategy:
            assert_never(strategy)
