"""Copy the files that the code reads, besides itself, into the wheel; `pyproject.toml` declares everything else.

An editable install copies nothing: `pipelines/resources.py` finds the originals.
"""

import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

ROOT = Path(__file__).resolve().parent
SHIPPED = (path for folder in ("sql", "docs/models") for path in ROOT.glob(f"{folder}/**/*.*"))
FILES = ("ordermart.toml", "workspace.yaml", *sorted(str(path.relative_to(ROOT)) for path in SHIPPED))


class BuildWithResources(build_py):
    """Build the package from scratch and add the resources."""

    def run(self) -> None:
        """Copy modules, then resources; `build/` may hold modules that have since been deleted."""
        if self.editable_mode:
            super().run()
            return
        package = Path(self.build_lib) / "pipelines"
        shutil.rmtree(package, ignore_errors=True)
        super().run()
        for name in FILES:
            copy = package / "_resources" / name
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, copy)


setup(cmdclass={"build_py": BuildWithResources})
