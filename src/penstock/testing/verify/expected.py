"""What a view should hold as of an epoch: the same view, in batch, over exactly the input that its job had consumed by then."""

from __future__ import annotations

from dataclasses import dataclass, replace

from pyspark.sql import DataFrame, SparkSession

from penstock.plan.cut import meaning
from penstock.plan.watermarks import scoped
from penstock.schema import Schema
from penstock.share.jobs import Member
from penstock.spark import rows
from penstock.spark.faults import in_users_words
from penstock.spark.frames import App, plan_frame, register_history
from penstock.testing.verify.consumed import Life
from penstock.testing.verify.rows import Row


@dataclass(frozen=True)
class Expected:
    """The rows that should be there. `late`: how many input rows the watermark had dropped, which are left out here as well."""

    schema: Schema
    rows: list[Row]
    late: int = 0


class Oracle:
    """Runs views in batch; an answer is kept, for several sinks ask for the same epoch."""

    def __init__(self, spark: SparkSession, app: App) -> None:
        self._spark, self._app = spark, app
        self._known: dict[tuple[str, int], Expected] = {}

    def expected(self, life: Life, member: Member, epoch: int) -> Expected:
        found = self._known.get((member.name, epoch))
        if found is None:
            try:
                found = self._known[member.name, epoch] = self._evaluate(life, member, epoch)
            except Exception as error:
                raise in_users_words(error, member.view) from error
        return found

    def _evaluate(self, life: Life, member: Member, epoch: int) -> Expected:
        desk = self._spark.newSession()
        app = replace(self._app, declared=replace(self._app.declared, declarations=scoped(member.view, self._app.declared.declarations)))
        plan = meaning(member.view, app.declared.declarations)
        register_history(desk, app, plan, life.spans(max(epoch, 0)))
        frame = plan_frame(desk, plan)
        schema = rows.schema_of(frame.schema)
        return Expected(schema, self._rows(frame) if epoch >= 0 else [])

    def _rows(self, frame: DataFrame) -> list[Row]:
        lines = frame.selectExpr(f"{rows.as_json(frame.schema, rows.visible(frame.columns))} AS r").toArrow()
        return [Row(line) for line in lines["r"].to_pylist()]
