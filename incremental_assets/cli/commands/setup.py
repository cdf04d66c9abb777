"""`setup`: what pip does not bring, fetched once per machine."""

from __future__ import annotations

from incremental_assets.adapters.spark import cds_archive, jars
from incremental_assets.adapters.spark.java import require_java
from incremental_assets.cli.answer import Answer, Note
from incremental_assets.cli.lines import say
from incremental_assets.core.errors import SetupError


def run() -> Answer:
    """Raises SetupError where Java is missing or a jar cannot be had; without an archive Spark only starts later."""
    java = require_java()
    say(f"fetching {len(jars.locked_jars())} jars into {jars.jar_folder()}, as far as they are not there")
    fetched = jars.resolve()
    say("making a class-data archive, by which Spark starts sooner: a minute, or more on a busy machine")
    try:
        cds_archive.make()
        archive, told = True, Note("the class-data archive is there: Spark starts sooner by it")
    except (SetupError, OSError) as error:
        archive, told = False, Note(f"there is no class-data archive, so Spark starts as without: {error}", "warn")
    folder = jars.jar_folder()
    return Answer(
        {"java": str(java.home), "jars": [path.name for path in fetched], "folder": str(folder), "archive": archive},
        (Note(f"{len(fetched)} jars are in {folder}, each checked against its hash", "good"), told),
    )
