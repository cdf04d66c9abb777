"""The versions of a copy's rows, in a Delta table beside it that follows the copy commit by commit.

Each of its commits is made under the id of the copy's table and the version of it that the history then shows: Delta takes it once, and the
history's own log tells how far it has come, whatever else is lost.
"""
