"""Figures of each label by itself, where an answer may hold several."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from potato.training.results.scores_bootstrap import Floats, figure, ratio


def per_label(names: Sequence[str], hits: Floats, alarms: Floats, misses: Floats) -> dict[str, dict[str, Any]]:
    """Precision, recall, F1 and support by label, from counts in the order of `names`.

    None where humans gave a label nowhere in what is held out, and for the precision of a label that the model never
    gave. The support is how often humans gave it.
    """
    given = hits + misses > 0
    columns = zip(
        np.where(given, ratio(hits, hits + alarms), np.nan),
        ratio(hits, hits + misses),
        np.where(given, ratio(2 * hits, 2 * hits + alarms + misses), np.nan),
        hits + misses,
        strict=True,
    )
    return {
        name: {"precision": figure(one), "recall": figure(two), "f1": figure(three), "support": int(support)}
        for name, (one, two, three, support) in zip(names, columns, strict=True)
    }
