"""The lake: Delta tables, their log, staged batches, the one commit of a batch."""
