"""How sure a share is that was counted on few cases."""

from __future__ import annotations

from math import sqrt

Z95 = 1.959963984540054
"""The 97.5th percentile of the standard normal distribution."""

Interval = tuple[float, float]


def wilson(part: int, whole: int, z: float = Z95) -> Interval | None:
    """The score interval of a share, 95 % by default; None where nothing was counted.

    E. B. Wilson, "Probable Inference, the Law of Succession, and Statistical Inference", JASA 22 (1927).
    """
    if whole <= 0:
        return None
    share = part / whole
    scale = 1 + z * z / whole
    middle = (share + z * z / (2 * whole)) / scale
    half = z / scale * sqrt(share * (1 - share) / whole + z * z / (4 * whole * whole))
    low = 0.0 if part == 0 else max(0.0, middle - half)
    high = 1.0 if part == whole else min(1.0, middle + half)
    return low, high


def difference(part: int, whole: int, other_part: int, other_whole: int) -> tuple[float, Interval] | None:
    """The first share less the other, with its 95 % interval; None where either was counted on nothing.

    R. G. Newcombe, "Interval Estimation for the Difference Between Independent Proportions", Statistics in Medicine 17
    (1998), method 10.
    """
    one, two = wilson(part, whole), wilson(other_part, other_whole)
    if one is None or two is None:
        return None
    p, q = part / whole, other_part / other_whole
    less = sqrt((p - one[0]) ** 2 + (two[1] - q) ** 2)
    more = sqrt((one[1] - p) ** 2 + (q - two[0]) ** 2)
    return p - q, (p - q - less, p - q + more)
