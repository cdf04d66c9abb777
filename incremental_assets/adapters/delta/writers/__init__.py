"""How a batch lands: one file per way, one commit each, chosen in `choice.py`."""
