"""`make dashboards`: pictures of the dashboards, drawn from what a real Prometheus answers to their own queries about a history that is made up."""
