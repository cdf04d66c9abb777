"""Sessions, the JVM below them, the Spark server that runs share, and the words of Spark SQL."""
