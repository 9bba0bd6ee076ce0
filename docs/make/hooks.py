"""What mkdocs does beside turning pages into HTML: pages made from the code, and files from outside
docs/."""

import os
import re
import sys
from pathlib import Path, PurePosixPath
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(Path(__file__).parent))

import arrows  # noqa: E402
import commands  # noqa: E402

# Files of the repository that are pages of the site, too.
PAGES = {
    "benchmarks/results.md": "results.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "CHANGELOG.md": "changelog.md",
}
ROOMS = "<!-- rooms -->"  # where architecture.md wants the table of rooms
LINK = re.compile(r"(?<!!)\[([^\]]+)\]\(([^)#\s:]+)(#[^)\s]*)?\)")


def on_files(files: Files, config: Any, **_: Any) -> Files:
    """Add the pages that no file under docs/ holds."""
    made = {
        page: shown((ROOT / file).read_text(encoding="utf-8"), file) for file, page in PAGES.items()
    }
    made["reference/commands.md"] = commands.page()
    made["pictures/rooms.svg"] = arrows.picture()
    for name, content in made.items():
        files.append(File.generated(config, name, content=content))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Fill in the table of rooms, and mend links that lead out of docs/."""
    if page.file.src_uri == "index.md":
        page.meta["hide"] = ["navigation"]  # there is nothing beside it
    if page.file.generated_by:
        return markdown
    return shown(markdown.replace(ROOMS, arrows.table()), f"docs/{page.file.src_uri}")


def shown(markdown: str, file: str) -> str:
    """The text of a file of the repository with links that work on the site."""
    return LINK.sub(lambda link: _mended(link, file), markdown)


def _mended(link: re.Match, file: str) -> str:
    words, there, anchor = link.group(1), link.group(2), link.group(3) or ""
    path = os.path.normpath(PurePosixPath(file).parent / there)
    here = PurePosixPath(PAGES.get(file, file.removeprefix("docs/"))).parent
    if path == "README.md":
        path = "docs/index.md"
    if path in PAGES or path.startswith("docs/"):
        target = PAGES.get(path, path.removeprefix("docs/"))
        return f"[{words}]({os.path.relpath(target, here)}{anchor})"
    return words if (ROOT / path).exists() else link.group(0)
