"""SQL Server 2016 SP2 and later, through python-tds. Experimental, not tested against a server: tests have recorded answers alone."""
