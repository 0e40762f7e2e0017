"""Where the level of a series shifts: how often it is found, where, and how often one is found that is not there."""

import numpy as np
import pytest

from tracelake.analysis import shifts


def made(rng, kind, *, count=30, shift=0.0, at=20):
    """Return a history of values around 1 with noise of a hundredth, and a shift from one place on."""
    noise = {
        "normal": rng.normal(0, 1, count),
        "long tail": rng.lognormal(0, 1, count) - np.exp(0.5),
        "outliers": rng.standard_t(3, count),
    }[kind]
    values = 1 + 0.01 * noise
    values[at:] *= 1 + shift
    return values


KINDS = ("normal", "long tail", "outliers")


@pytest.mark.parametrize("kind", KINDS)
def test_of_200_shuffles_of_an_unchanged_history_at_most_the_stated_rate_shows_a_shift(kind):
    rng = np.random.default_rng(1)
    history = made(rng, kind)
    alarms = sum(bool(shifts.find(rng.permutation(history))) for _ in range(200))
    # 4 of 200 are expected; 10 or more would come by chance once in a hundred times.
    assert alarms < 10


@pytest.mark.parametrize(("kind", "least"), [("normal", 45), ("long tail", 40), ("outliers", 35)])
def test_a_shift_of_three_percent_is_found_where_it_is(kind, least):
    rng = np.random.default_rng(2)
    found = [shifts.find(made(rng, kind, shift=0.03)) for _ in range(50)]
    assert sum(len(one) == 1 and abs(one[0].start - 20) <= 1 for one in found) >= least


@pytest.mark.parametrize(("count", "at", "least"), [(10, 6, 48), (10, 7, 38), (12, 9, 46), (30, 26, 48)])
def test_a_shift_far_above_the_noise_begins_at_its_first_run_also_beside_few(count, at, least):
    # Fifty standard deviations. A split nearer to the middle would be better in ranks if the run before the shift is
    # by chance the highest of its level: of these 200 histories, 41 had it too early and 127 not at all.
    rng = np.random.default_rng(8)
    found = [shifts.find(made(rng, "normal", count=count, shift=0.5, at=at)) for _ in range(50)]
    starts = [[one.start for one in history] for history in found]
    assert starts.count([at]) >= least
    assert starts.count([at]) + starts.count([]) >= 49


def test_a_bump_is_two_shifts():
    values = made(np.random.default_rng(3), "normal", count=60, shift=0.05)
    values[40:] = made(np.random.default_rng(4), "normal", count=20)
    assert [(one.start, one.end) for one in shifts.find(values)] == [(20, 40), (40, 60)]


def test_the_interval_of_a_shift_holds_the_true_one_19_times_of_20():
    rng = np.random.default_rng(5)
    found = [one for _ in range(200) for one in shifts.find(made(rng, "normal", shift=0.05))]
    assert len(found) >= 195
    assert 0.9 <= sum(one.low <= 0.05 <= one.high for one in found) / len(found) <= 0.99


def test_one_outlier_is_no_shift():
    values = made(np.random.default_rng(6), "normal")
    values[20] *= 2
    assert shifts.find(values) == []


def test_levels_without_noise_are_told_apart():
    [one] = shifts.find([1.0] * 20 + [2.0] * 10)
    assert (one.start, one.before, one.after, one.low, one.high) == (20, 1, 2, 1, 1)


@pytest.mark.parametrize("values", [[], [1.0] * 30, [1.0, 1.1, 2.0, 2.1, 2.0, 2.1, 2.0]])
def test_a_history_that_is_short_or_constant_has_none(values):
    assert shifts.find(values) == []


def test_a_few_points_of_another_program_move_no_level():
    values = made(np.random.default_rng(7), "normal", shift=0.05)
    values[[1, 3]], values[29] = 0.2, 3.0
    [one] = shifts.find(values)
    # Their mean would be 0.08 less, and 0.2 more.
    assert (one.before, one.after) == (pytest.approx(1, abs=0.01), pytest.approx(1.05, abs=0.01))
    assert 0.03 < one.low < one.high < 0.07
