"""How those on call see it: where every table stands, metrics, objectives and alerts. Pure."""
