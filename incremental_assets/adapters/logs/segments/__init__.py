"""Segments: closed ranges of the log on disk, from which tables land, each at its own pace."""
