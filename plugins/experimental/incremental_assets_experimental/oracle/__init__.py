"""Oracle Database 19c and later, through python-oracledb without a client library. Experimental, never run against a real server: tests have recorded answers alone."""
