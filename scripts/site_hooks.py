"""Hooks of mkdocs: pages from the root of the repository, and a check that the site is offline.

README.md and its neighbours stand outside of docs/, where mkdocs does not look. They become pages
below project/, and links from and to them are rewritten. After the build, every HTML page and style
sheet is searched for resources that a browser would fetch from another server.
"""

from __future__ import annotations

import posixpath
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parent.parent
PAGES = {
    f"{name}.md": f"project/{name.lower()}.md"
    for name in ("README", "SECURITY", "CONTRIBUTING", "CHANGELOG")
} | {"conformance/README.md": "project/conformance.md"}
_SOURCES = {uri: name for name, uri in PAGES.items()}
_LINK = re.compile(r"(?<=\]\()([^)#:\s]+\.(?:md|png|svg))(?=[#)])")
_TWO_NOTES = re.compile(r"(?<=\d\]) \[(?=\d+\])")
"""Between two numbers of notes, `[2] [3]`, which is a link in Markdown."""
_LOADING = {"src", "srcset", "data", "poster"}
_CSS_URL = re.compile(
    r"""url\(\s*["']?((?:https?:)?//[^"')]+)|@import\s+["']((?:https?:)?//[^"']+)"""
)


def on_files(files: Files, config: Any) -> Files:
    for name, uri in PAGES.items():
        files.append(File.generated(config, uri, abs_src_path=str(ROOT / name)))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    here = page.file.src_uri
    source = _SOURCES.get(here, f"docs/{here}")

    def rewritten(match: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(posixpath.dirname(source), match[1]))
        if here not in _SOURCES and target not in PAGES:
            return match[1]
        uri = PAGES.get(target, target.removeprefix("docs/"))
        return posixpath.relpath(uri, posixpath.dirname(here) or ".")

    return _TWO_NOTES.sub(r" \\[", _LINK.sub(rewritten, markdown))


class _Resources(HTMLParser):
    """The addresses on other servers that a browser would fetch to show a page."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attributes}
        named = [given[name] for name in _LOADING & given.keys()]
        if tag == "link" and given.get("rel") not in ("canonical", "next", "prev"):
            named.append(given.get("href", ""))
        if "mermaid" in given.get("class", "").split():
            named.append("https: (a diagram, for which the theme loads a script)")
        self.found += [value for value in named if value.startswith(("http:", "https:", "//"))]


def remote_resources(site: Path) -> list[str]:
    """`page: address` for everything that a page of the site would load from the network."""
    found: list[str] = []
    for page in sorted(site.rglob("*.html")):
        parser = _Resources()
        text = page.read_text(encoding="utf-8")
        parser.feed(text)
        styles = "".join(re.findall(r"<style.*?</style>", text, re.DOTALL))
        parser.found += [a or b for a, b in _CSS_URL.findall(styles)]
        found += [f"{page.relative_to(site)}: {address}" for address in parser.found]
    for sheet in sorted(site.rglob("*.css")):
        named = _CSS_URL.findall(sheet.read_text(encoding="utf-8"))
        found += [f"{sheet.relative_to(site)}: {a or b}" for a, b in named]
    return found


def on_post_build(config: Any) -> None:
    found = remote_resources(Path(config.site_dir))
    if found:
        raise PluginError("the site would load from the network:\n" + "\n".join(found))
