"""Take a picture of a morning page with chromium: `python docs/picture.py data/published/morning.html`.

Writes docs/morning.png, which the README shows. Standard library only.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

FILE = Path(__file__).resolve().with_name("morning.png")
WIDTH, HEIGHT, SCALE = 1600, 1480, 0.7
_FLAGS = "--headless=new --no-sandbox --disable-gpu --hide-scrollbars --blink-settings=preferredColorScheme=1"


def take(page: Path, picture: Path) -> None:
    """Write the top of a page as PNG."""
    with tempfile.TemporaryDirectory() as profile:
        command = ["chromium", *_FLAGS.split(), f"--user-data-dir={profile}", f"--window-size={WIDTH},{HEIGHT}"]
        command.append(f"--force-device-scale-factor={SCALE}")
        subprocess.run(  # noqa: S603 -- a browser on a page of our own
            [*command, f"--screenshot={picture}", page.resolve().as_uri()], check=True, capture_output=True, timeout=120
        )


if __name__ == "__main__":
    take(Path(sys.argv[1]), FILE)
