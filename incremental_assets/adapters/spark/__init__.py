"""Sessions, their JVM, the Spark Connect server that runs share, and Spark SQL expressions."""
