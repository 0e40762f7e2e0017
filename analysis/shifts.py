"""Where the level of a history shifts: change points of a series of numbers.

The search is ruptures' PELT: it finds the best segmentation, by least squares, for a given penalty per shift. Values
far from the median are clipped, so that outliers and long tails hide no shift. (Ranks would do the same, but levels
that are far apart are no further apart in ranks: a split nearer to the middle is then as good as the true one.) The
penalty is the gain that only a share `ALARMS` of shuffled copies of the series reach by a shift, or by each of two.
So the rate of false alarms holds for any noise without serial order. Then each shift is moved to where its two levels
fit best, with the values clipped that are beyond both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..engine.errors import UsageError

if TYPE_CHECKING:
    import numpy

    Array = numpy.ndarray[Any, numpy.dtype[numpy.float64]]

#: The share of histories without a shift in which one is nevertheless found.
ALARMS = 0.02
#: The minimum length of a level, and of a history.
SHORTEST, FEWEST = 3, 8
_SHUFFLES, _STARTS = 999, 100
#: From how many standard deviations of the noise on a value is far from the median.
_FAR = 3.0
#: The quantile of the normal distribution that leaves 2.5 % above it.
_NORMAL_95 = 1.96


@dataclass(frozen=True)
class Shift:
    """A shift of the level.

    Attributes:
        start: index of the first value of the new level.
        end: index after its last value.
        before: median of the level before.
        after: median of the new level.
        low: lower end of the 95 % interval of their difference, without assumptions on the noise.
        high: upper end of it.
    """

    start: int
    end: int
    before: float
    after: float
    low: float
    high: float


def find(values: Sequence[float]) -> list[Shift]:
    """Return the shifts of a series, in order; empty if it is shorter than `FEWEST`.

    Raises:
        UsageError: ruptures is not installed.
    """
    try:
        import numpy as np
        import ruptures
    except ImportError:
        raise UsageError("a history needs ruptures, which is not installed: pip install 'tracelake[history]'") from None

    series = np.asarray(values, dtype=float)
    if len(series) < FEWEST or np.ptp(series) == 0:
        return []
    clipped = _clipped(series)
    search = ruptures.Pelt(model="l2", min_size=SHORTEST, jump=1).fit(clipped)
    bounds = [0, *map(int, search.predict(pen=_price(clipped)))]
    for nth in range(1, len(bounds) - 1):
        bounds[nth] = _placed(series, *bounds[nth - 1 : nth + 2])
    return [
        _shift(series[begin:start], series[start:end], start)
        for begin, start, end in zip(bounds, bounds[1:], bounds[2:], strict=False)
    ]


def _clipped(series: Array) -> Array:
    """Return the series with its values clipped that are far from the median, in terms of the noise."""
    import numpy as np

    # Of differences of neighbours, which few shifts and outliers change; each has two deviations in it.
    noise = 1.4826 * np.median(np.abs(np.diff(series))) / np.sqrt(2)
    middle = np.median(series)
    # If most neighbours are equal, the noise is unknown.
    return np.clip(series, middle - _FAR * noise, middle + _FAR * noise) if noise else series


def _placed(series: Array, begin: int, start: int, end: int) -> int:
    """Return the best start of the level, by least squares, between the shifts before and after it."""
    import numpy as np

    levels = np.median(series[begin:start]), np.median(series[start:end])
    if levels[0] == levels[1]:
        return start
    stretch = np.clip(series[begin:end], min(levels), max(levels))
    heads = np.arange(SHORTEST, end - begin - SHORTEST + 1)
    sums = np.cumsum(stretch - stretch.mean())[heads - 1]
    return begin + int(heads[np.argmax(sums**2 / (heads * (end - begin - heads)))])


def _price(series: Array) -> float:
    """Return the gain by one shift, or by each of two, that all but `ALARMS` of shuffled copies stay below."""
    import numpy as np

    count = len(series)
    shuffled = np.random.default_rng(0).permuted(np.tile(series - series.mean(), (_SHUFFLES, 1)), axis=1)
    sums = np.pad(np.cumsum(shuffled, axis=1), ((0, 0), (1, 0)))
    best = np.zeros(_SHUFFLES)
    # In a long history, only some positions of the first shift are tried.
    for first in (0, *range(SHORTEST, count - 2 * SHORTEST + 1, max(count // _STARTS, 1))):
        second = np.arange(first + SHORTEST, count - SHORTEST + 1)
        head, till = sums[:, [first]], sums[:, second]
        gain = head**2 / max(first, 1) + (till - head) ** 2 / (second - first) + till**2 / (count - second)
        best = np.maximum(best, gain.max(axis=1) / (2 if first else 1))
    return float(np.quantile(best, 1 - ALARMS)) * (1 + 1e-9)


def _shift(before: Array, after: Array, start: int) -> Shift:
    import numpy as np

    # Moses's interval: the differences of all pairs, without those at each end that the rank sum test excludes.
    pairs = np.sort(np.subtract.outer(after, before), axis=None)
    spread = np.sqrt(len(pairs) * (len(after) + len(before) + 1) / 12)
    out = max(0, int(np.floor(len(pairs) / 2 - _NORMAL_95 * spread)))
    low, high = float(pairs[out]), float(pairs[-1 - out])
    return Shift(start, start + len(after), float(np.median(before)), float(np.median(after)), low, high)
