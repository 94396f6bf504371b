"""A trainer whose import lasts until a file says that it may end."""

import os
import time
from dataclasses import replace
from pathlib import Path

from strange_trainers import Strange


class SlowImport(Strange):
    """Its module is slow."""

    info = replace(Strange.info, name="strange-slow-import")


while not Path(os.environ["STRANGE_GO"]).exists():
    time.sleep(0.01)
