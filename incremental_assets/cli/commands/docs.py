"""`docs`: the pages that come with the package, so that what a message names can be read where it was installed."""

from __future__ import annotations

import difflib
from pathlib import Path

import incremental_assets
from incremental_assets.cli.answer import Answer, Grid, Note
from incremental_assets.core.errors import SelectionError

_FOLDER = Path(incremental_assets.__file__).with_name("docs")
_SUFFIX = ".md"


def run(page: str | None) -> Answer:
    """One page as it is written, in Markdown, or a list of all. Raises SelectionError for one that is not there."""
    pages = _pages()
    if page is None:
        titles = {name: _title(file) for name, file in pages.items()}
        shown = Grid(("page", "about"), tuple(titles.items()))
        return Answer({"pages": [{"page": name, "title": title} for name, title in titles.items()]}, (shown,))
    found = _named(page, pages)
    text = pages[found].read_text(encoding="utf-8").rstrip("\n")
    return Answer({"page": found, "text": text}, (Note(text, wrap=False),))


def _pages() -> dict[str, Path]:
    """Each by its path below the folder, without the ending."""
    files = sorted(_FOLDER.rglob(f"*{_SUFFIX}"))
    return {file.relative_to(_FOLDER).with_suffix("").as_posix(): file for file in files}


def _title(file: Path) -> str:
    with file.open(encoding="utf-8") as lines:
        return next((line.strip("# \n") for line in lines if line.startswith("#")), "")


def _named(page: str, pages: dict[str, Path]) -> str:
    """By its path, as a message or a link has it, or by its name alone."""
    wanted = page.removeprefix("docs/").removesuffix(_SUFFIX)
    for name in sorted(pages, key=len):
        if wanted in (name, name.rpartition("/")[2]):
            return name
    near = difflib.get_close_matches(wanted, pages, 1) or [min(pages)]
    raise SelectionError(
        f"there is no page {page!r}; `incremental-assets docs {near[0]}` shows one, `incremental-assets docs` lists all"
    )
