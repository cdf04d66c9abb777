"""The binlog of MariaDB and MySQL: events of rows, read over the protocol of replication, through durable segments to what lands."""
