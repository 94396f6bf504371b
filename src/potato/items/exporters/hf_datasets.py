"""`hf-datasets`: a folder that `datasets.load_dataset` opens, and that may be pushed to a Hub as it is."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import BinaryIO

from potato.items.exporters.base import Line, Options
from potato.items.exporters.parquet import Parquet

DATA = "data/train.parquet"
CARD = """\
---
pretty_name: {name}
configs:
- config_name: default
  data_files:
  - split: train
    path: {data}
---

# {title}

Human annotations, a row for each item and annotator. Each question has a column, `annotations.NAME`; a row with an
`adjudicator` in place of an `annotator` holds what was decided where annotators disagreed.
"""


class HfDatasets(Parquet):
    """The parquet table, with the card that says where it lies."""

    keeps = "what `parquet` keeps, as a folder that `datasets.load_dataset` opens"
    is_folder = True

    def write(self, lines: Iterable[Line], file: BinaryIO, options: Options) -> None:
        raise NotImplementedError("this format is a folder")

    def write_folder(self, lines: Iterable[Line], folder: Path, options: Options) -> None:
        (folder / DATA).parent.mkdir()
        with (folder / DATA).open("wb") as file:
            super().write(lines, file, options)
        card = CARD.format(name=json.dumps(options.name), title=options.name, data=DATA)
        (folder / "README.md").write_text(card, "utf-8")
