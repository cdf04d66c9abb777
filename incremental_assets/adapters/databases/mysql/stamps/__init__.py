"""What stamps a column in MariaDB and MySQL: its default, `ON UPDATE`, or triggers."""
