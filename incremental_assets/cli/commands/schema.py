"""`schema`: the JSON Schema of sources.yaml."""

from __future__ import annotations

import json

from incremental_assets.cli.answer import Answer, Note
from incremental_assets.core.config.json_schema import schema


def run() -> Answer:
    """The same text with and without `--json`."""
    document = schema()
    return Answer(document, (Note(json.dumps(document, indent=2, ensure_ascii=False), wrap=False),))
