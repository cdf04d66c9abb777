"""MySQL and MariaDB: read through its text protocol, in which every value stands as the server prints it."""
