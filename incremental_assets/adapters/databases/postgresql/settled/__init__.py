"""How far the watermark may go: the clock, open transactions, and sessions whose stamp no view shows yet."""
