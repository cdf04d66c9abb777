"""SQL Server 2016 SP2 and later, through python-tds. Experimental, never run against a real server: tests have recorded answers alone."""
