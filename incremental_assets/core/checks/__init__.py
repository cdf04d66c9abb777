"""Fresh, unique, equal to the source, of its columns: the questions and the verdicts."""
