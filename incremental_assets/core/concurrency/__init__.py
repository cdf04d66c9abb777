"""Threads: work in the background, questions that several ask together, and how each ends."""
