"""Oracle Database 19c and later, through python-oracledb without a client library. Experimental, not tested against a server: tests have recorded answers alone."""
