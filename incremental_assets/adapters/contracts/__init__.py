"""Contracts as pandera models, played on rows in Arrow. It knows nothing of where rows come from and go to."""
