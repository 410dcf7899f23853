# SPDX-License-Identifier: Apache-2.0
"""Documentation site: links, search, public names, and rendering in a browser."""

from __future__ import annotations

import json
import re
import shutil
import zlib
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

pytestmark = pytest.mark.slow

WIDTH = 1280
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
MARKUP = re.compile(
    r"\{eval-rst\}|\{[a-z-]+\}`|:(?:py|c|cpp|ref):?[a-z]*:`|``|\\[*_|]|\.\. [a-z-]+::|\]\(|^:::",
    re.M,
)


class Page(HTMLParser):
    """The anchors and links of an HTML page."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.links: list[str] = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        for name, value in attrs:
            if name == "id" and value:
                self.ids.add(value)
            elif (name == "href" or (name == "src" and tag == "img")) and value:
                self.links.append(value)


@pytest.fixture(scope="module")
def pages(site):
    return {path: Page(path) for path in site.rglob("*.html")}


def test_no_internal_link_is_broken(pages):
    broken = []
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            fragment = unquote(parts.fragment)
            known = pages.get(target)
            if not target.exists() or (fragment and known and fragment not in known.ids):
                broken.append(f"{path.name}: {link}")
    assert broken == []


@pytest.mark.parametrize(
    ("words", "page"),
    [
        (("torch", "compil"), "guides/frameworks"),
        (("keyword", "argument"), "design/differences"),
        (("read", "onli"), "design/differences"),
    ],
    ids=["torch.compile", "keyword arguments", "read-only"],
)
def test_search_finds_the_page(site, words, page):
    """The search words are the stems in Sphinx's search index."""
    text = (site / "searchindex.js").read_text(encoding="utf-8")
    index = json.loads(text.removeprefix("Search.setIndex(").removesuffix(")"))
    number = index["docnames"].index(page)
    for word in words:
        found = [index[kind].get(word, []) for kind in ("terms", "titleterms")]
        numbers = {entry for row in found for entry in (row if isinstance(row, list) else [row])}
        assert number in numbers, word


def inventory(site: Path) -> list[tuple[str, str]]:
    """Return the documented names with their domains, without names of priority -1 (hidden)."""
    data = (site / "objects.inv").read_bytes()
    text = zlib.decompress(data.split(b"\n", 4)[4]).decode()
    rows = re.findall(r"^(.+?) +(\w+):\S+ +(-?\d+) ", text, re.MULTILINE)
    return [(domain, name) for name, domain, priority in rows if priority != "-1"]


def test_python_objects_have_public_names(site):
    names = [name for domain, name in inventory(site) if domain == "py"]
    private = [name for name in names if re.search(r"(^|\.)_(?!_\w+__$)", name)]
    assert private == []
    assert "tvm_ffi.cpp.load_inline" in names
    assert not {"load_inline", "load", "build"} & {
        name.removeprefix("tvm_ffi.cpp.extension.") for name in names if "cpp.extension" in name
    }


# ---- Rendering in a browser ----------------------------------------------------------------------


@pytest.fixture(scope="module")
def browser():
    playwright = pytest.importorskip("playwright.sync_api", reason="no playwright")
    path = next(filter(None, map(shutil.which, BROWSERS)), None)
    if path is None:
        pytest.skip(f"no browser: {', '.join(BROWSERS)}")
    with playwright.sync_playwright() as driver:
        shown = driver.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield shown
        shown.close()


# Returns the width of the page, without elements that have their own scroll bar, and its text
# without code.
MEASURE = """() => {
  const code = 'pre, code, .sig, script, style, .headerlink';
  const text = [...document.querySelectorAll('article p, article li, article td, article dd > p')]
    .map(node => { const copy = node.cloneNode(true);
                   copy.querySelectorAll(code).forEach(part => part.remove());
                   return copy.textContent; });
  return [document.documentElement.scrollWidth, text.join('\\n')];
}"""


def test_pages_fit_and_show_no_markup(site, browser):
    """The test opens all pages in one window, which is faster than one window per page."""
    window = browser.new_page(viewport={"width": WIDTH, "height": 900})
    wrong = []
    for path in sorted(site.rglob("*.html")):
        name = path.relative_to(site).as_posix()
        if name in {"search.html", "genindex.html", "py-modindex.html"}:
            continue
        window.goto(path.as_uri(), wait_until="domcontentloaded")
        width, text = window.evaluate(MEASURE)
        if width > WIDTH:
            wrong.append(f"{name} is {width} pixels wide")
        if raw := MARKUP.search(text):
            wrong.append(f"{name} shows {text[max(raw.start() - 30, 0) : raw.end() + 30]!r}")
    assert wrong == []
