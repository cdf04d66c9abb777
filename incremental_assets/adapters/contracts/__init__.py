"""Contracts as pandera models, applied to rows in Arrow. It knows nothing of where rows come from and go to."""
