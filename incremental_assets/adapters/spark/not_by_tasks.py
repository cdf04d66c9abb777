"""Work that tasks leave to Spark's own readers and writers."""


class NotByTasks(Exception):
    """What a table, its log, one of its files or the file system has that is not known here: its words say what."""
