"""How the documentation is built. The pages under `reference/` are written here, from the code itself."""

from __future__ import annotations

import sys
from pathlib import Path

from sphinx.application import Sphinx

from potato import __version__

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

project = "Potato"
author = "The Potato authors"
release = __version__
copyright = "the Potato authors. Apache License 2.0"

extensions = ["myst_parser"]
exclude_patterns = ["_build", "reference/*"]
myst_enable_extensions = ["deflist", "fieldlist"]
myst_heading_anchors = 3
html_theme = "furo"
html_title = f"Potato {__version__}"
html_show_sphinx = False
html_copy_source = False
highlight_language = "none"
pygments_style = "friendly"
pygments_dark_style = "monokai"


def write_references(_app: Sphinx) -> None:
    """Write the tables of settings, trainers and formats from the models that the program itself uses."""
    import tables

    from potato.project import reference as configuration

    folder = HERE / "reference"
    folder.mkdir(exist_ok=True)
    settings = configuration.markdown()
    settings = settings[settings.index("\n## ") :]  # the page that includes it has a title and words of its own
    pages = {"configuration": settings, "trainers": tables.trainers(), "formats": tables.formats()}
    for name, page in pages.items():
        (folder / f"{name}.md").write_text(page, encoding="utf-8")


def setup(app: Sphinx) -> None:
    """Called by Sphinx."""
    app.connect("builder-inited", write_references)
