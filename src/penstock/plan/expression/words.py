"""The words of Spark SQL that are not columns: aggregate functions, keywords, units, types."""

from __future__ import annotations


def words(text: str) -> frozenset[str]:
    """The words of a text, as a set."""
    return frozenset(text.split())


# Spark 4.3's function registry: the group agg_funcs, and the aggregates it files under variants and vectors.
AGGREGATES: frozenset[str] = words(
    """
any any_value approx_count_distinct approx_percentile approx_top_k approx_top_k_accumulate approx_top_k_combine array_agg avg bit_and bit_or
bit_xor bitmap_and_agg bitmap_construct_agg bitmap_or_agg bool_and bool_or collect_list collect_set collect_union corr count count_if
count_min_sketch covar_pop covar_samp every first first_value grouping grouping_id histogram_numeric hll_sketch_agg hll_union_agg
kll_merge_agg_bigint kll_merge_agg_double kll_merge_agg_float kll_sketch_agg_bigint kll_sketch_agg_double kll_sketch_agg_float kurtosis last
last_value listagg max max_by mean measure median min min_by mode percentile percentile_approx percentile_cont percentile_disc regr_avgx
regr_avgy regr_count regr_intercept regr_r2 regr_slope regr_sxx regr_sxy regr_syy schema_of_variant_agg skewness some std stddev stddev_pop
stddev_samp string_agg sum theta_intersection_agg theta_sketch_agg theta_union_agg try_avg try_sum tuple_intersection_agg_double
tuple_intersection_agg_integer tuple_sketch_agg_double tuple_sketch_agg_integer tuple_union_agg_double tuple_union_agg_integer var_pop
var_samp variance vector_avg vector_sum
"""
)

# Functions that make several rows of one.
GENERATORS: frozenset[str] = words(
    "explode explode_outer posexplode posexplode_outer inline inline_outer stack json_tuple variant_explode variant_explode_outer"
)

# Words before a bracket that do not call a function.
NOT_FUNCTIONS: frozenset[str] = words(
    """
and or not in between like ilike rlike regexp is case when then else end as on using where having by select from join values over
group within distinct union except intersect minus set sets rollup cube lateral limit offset partition order sort qualify with interval
pivot unpivot tablesample cross outer full inner semi anti natural cluster distribute recursive escape div collate
"""
)

# Words that are never a column, wherever they stand in an expression.
NOT_COLUMNS: frozenset[str] = words(
    """
and or not null true false is in like ilike rlike regexp between case when then else end as distinct from over by
asc desc escape where div for placing collate select
"""
)

# Words that are a keyword only when one of these follows.
CLAUSES: dict[str, tuple[str, ...]] = {
    "within": ("group",),
    "nulls": ("first", "last"),
    "ignore": ("nulls",),
    "respect": ("nulls",),
    "group": ("by",),
    "order": ("by",),
    "partition": ("by",),
    "sort": ("by",),
    "distribute": ("by",),
    "cluster": ("by",),
}

FRAME: tuple[str, ...] = ("rows", "range", "between", "and", "unbounded", "preceding", "following", "current", "row")

# Functions that Spark calls without brackets.
NILADIC: frozenset[str] = words(
    """
current_date current_timestamp current_time current_user current_catalog current_database current_schema current_path session_user
localtimestamp localtime
"""
)

# Functions whose answer is not made of the row: the clock, and chance.
CLOCK: frozenset[str] = words("now current_timestamp current_date current_time curdate localtimestamp localtime")
CHANCE: frozenset[str] = words("rand random randn randstr uniform uuid shuffle monotonically_increasing_id spark_partition_id")

UNITS: tuple[str, ...] = tuple(
    unit + ending
    for unit in ("nanosecond", "microsecond", "millisecond", "second", "minute", "hour", "day", "week", "month", "quarter", "year", "dayofyear")
    for ending in ("", "s")
)
TIME_UNIT_FIRST: tuple[str, ...] = ("timestampadd", "timestampdiff", "dateadd", "date_add", "datediff", "date_diff", "timediff")
# Functions with a grammar of their own: sqlglot may know them. It knows too much of all the others.
OWN_GRAMMAR: frozenset[str] = NOT_FUNCTIONS | words(
    """
cast try_cast extract trim position overlay substring substr count struct exists any some all filter grouping table array
decimal varchar char numeric dec ignore respect nulls to
"""
)
# Keywords of statements that no query holds: in a query they are names.
NEVER_KEYWORDS: frozenset[str] = words(
    """
alter create drop fetch grant insert into revoke rollback serdeproperties uncache lock overlaps describe cache comment show set use
truncate merge delete update begin commit load copy kill refresh analyze
"""
)
TYPED_LITERALS: frozenset[str] = frozenset(("date", "timestamp", "timestamp_ntz", "timestamp_ltz", "time", "x", "interval"))
