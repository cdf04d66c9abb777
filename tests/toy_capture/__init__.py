"""A kind of source as another package would bring it: events of topics, each in partitions, with offsets as the position. It knows no database."""
