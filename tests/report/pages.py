"""Read a page as a browser's parser would."""

from __future__ import annotations

import base64
import hashlib
import re
from html.parser import HTMLParser

VOID = {"meta", "br", "hr", "img", "input", "link"}


class Page(HTMLParser):
    """Reads a page: its tags with their attributes, its cells by table, and whether every tag is closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.tables: list[list[list[str]]] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note a tag."""
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in {"td", "th"}:
            self.tables[-1][-1].append("")

    def handle_endtag(self, tag: str) -> None:
        """Check a closing tag against the open one."""
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        """Note the text of a cell."""
        if self.open and self.open[-1] in {"td", "th"}:
            self.tables[-1][-1][-1] += data


def offences(text: str) -> list[str]:
    """Return what keeps a page from being well-formed and self-contained under a strict policy; and uneven tables."""
    page = Page(text)
    found = [f"<{tag}> is not closed" for tag in page.open]
    policy = next(of["content"] or "" for tag, of in page.tags if "http-equiv" in of)
    style = base64.b64encode(hashlib.sha256(re.findall(r"<style>(.*?)</style>", text, re.DOTALL)[0].encode()).digest())
    if not policy.startswith(f"default-src 'none'; style-src 'sha256-{style.decode()}'") or "unsafe" in policy:
        found.append(f"policy: {policy}")
    for tag, attributes in page.tags:
        if tag in {"script", "link", "img", "iframe", "object", "form", "image", "use"}:
            found.append(f"<{tag}>")
        found += [f"{name} of <{tag}>" for name in attributes if name.startswith("on") or name in {"src", "style"}]
        link = attributes.get("href") or attributes.get("xlink:href")
        found += [f"link to {link}"] if link and not link.startswith("#") else []
    for head, *rows in page.tables:
        found += [f"{len(row)} cells below {', '.join(head)}" for row in rows if len(row) != len(head)]
    ids = [attributes["id"] for _, attributes in page.tags if "id" in attributes]
    found += [f"id {each} twice" for each in {*ids} if ids.count(each) > 1]
    return found
