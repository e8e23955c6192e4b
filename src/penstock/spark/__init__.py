"""Where a job runs: the only part of Penstock, with the sources and decoders it compiles, that speaks to Spark."""
