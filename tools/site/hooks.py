"""Hooks of mkdocs: pages that lie beside `docs` come along, and links that are right in the repository become right on the site."""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[2]
DOCS = "docs/"
MOVED = {
    "README.md": "index.md",
    "docs/README.md": "pages.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
}
"""Pages by their place in the repository, and where they are on the site."""
_LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^()\s]+)\)")
_FENCED = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that lie elsewhere. mkdocs would take the index of `docs` for the site's first page: that is the README."""
    index = files.get_file_from_path("README.md")
    if index is not None:
        files.remove(index)
    for origin, place in MOVED.items():
        files.append(File.generated(config, place, content=(ROOT / origin).read_text(encoding="utf-8")))
    return files


def on_page_markdown(markdown: str, page: Page, files: Files, **_: Any) -> str:
    """Every link of a page, from where its file lies in the repository to where its target is on the site."""
    here = page.file.src_uri
    origin = next((each for each, place in MOVED.items() if place == here), DOCS + here)
    known = {file.src_uri for file in files}

    def moved(found: re.Match[str]) -> str:
        image, text, target = found.groups()
        if re.match(r"[a-z]+:|#", target):
            return found[0]
        path, _, anchor = target.partition("#")
        place = posixpath.normpath(posixpath.join(posixpath.dirname(origin), path))
        there = MOVED.get(place, place.removeprefix(DOCS))
        if there not in known and (ROOT / place).exists():
            return text  # a file of the source, or a folder: the site has no page of it
        link = posixpath.relpath(there, posixpath.dirname(here) or ".")
        return f"{image}[{text}]({link}{'#' + anchor if anchor else ''})"

    parts = _FENCED.split(markdown)
    return "".join(part if part.startswith("```") else _LINK.sub(moved, part) for part in parts)
