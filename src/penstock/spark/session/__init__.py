"""The JVM and the Spark session of a process: jars, class archive, pinned settings."""
