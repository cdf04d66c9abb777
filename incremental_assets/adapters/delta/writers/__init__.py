"""How a batch lands: one file for each way, one commit each, chosen in `choice.py`."""
