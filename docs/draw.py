"""Draw the Mermaid block of ARCHITECTURE.md as architecture.svg, as GitHub draws it: `python docs/draw.py`.

Needs npm, which fetches Mermaid, and chromium, which runs it. The picture says of which block it was made.
"""

from __future__ import annotations

import hashlib
import html
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
MERMAID = "mermaid@11"
_LONG_NUMBER = re.compile(r"(\d\.\d\d)\d+")
_PAGE = """<!doctype html><meta charset="utf-8"><pre class="mermaid">{block}</pre>
<script src="package/dist/mermaid.min.js"></script><script>
const flowchart = {{ htmlLabels: false, useMaxWidth: false }};
mermaid.initialize({{ deterministicIds: true, theme: "neutral", htmlLabels: false, flowchart }});
</script>"""
_FLAGS = "--headless=new --no-sandbox --disable-gpu --allow-file-access-from-files --virtual-time-budget=20000"


def read(text: str) -> str:
    """Return the Mermaid block of a Markdown text."""
    return text.split("```mermaid\n")[1].split("```", maxsplit=1)[0]


def mark(block: str) -> str:
    """Return what a picture says of the block that it was made of."""
    return f"<!-- SHA-256 of the block: {hashlib.sha256(block.encode()).hexdigest()} -->"


def svg(block: str) -> str:
    """Return a block drawn by Mermaid; raise ValueError if it drew nothing, CalledProcessError if npm failed."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _run(["npm", "pack", "--silent", MERMAID], folder)
        (archive,) = folder.glob("*.tgz")
        shutil.unpack_archive(archive, folder, filter="data")
        page = folder / "page.html"
        page.write_text(_PAGE.format(block=html.escape(block)), "utf-8")
        command = ["chromium", *_FLAGS.split(), f"--user-data-dir={folder / 'profile'}", "--dump-dom", page.as_uri()]
        dom = _run(command, folder)
    found = re.search(r"<svg .*?</svg>", dom, re.DOTALL)
    if found is None:
        raise ValueError("Mermaid drew nothing")
    drawn = found[0].replace("<svg ", '<svg style="background: white" ', 1)  # also on a dark page
    short = _LONG_NUMBER.sub(r"\1", drawn)
    return f"{mark(block)}\n{short}\n"


def _run(command: list[str], folder: Path) -> str:
    return subprocess.run(  # noqa: S603 -- programs named above
        command, cwd=folder, check=True, capture_output=True, encoding="utf-8", timeout=120
    ).stdout


if __name__ == "__main__":
    (HERE / "architecture.svg").write_text(svg(read((HERE / "ARCHITECTURE.md").read_text("utf-8"))), "utf-8")
