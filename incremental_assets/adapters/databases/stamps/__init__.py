"""What databases share that read from their catalogue who stamps a column: the words of an expression, the clock that it shows, a trigger's steps."""
