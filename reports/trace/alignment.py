"""A simulated forward pass compared with a measured one, as a line."""

from __future__ import annotations


def m6_line(
    m6: float | None,
    coverage: float | None,
    calibration: float | None,
    surplus: float | None,
    hit_us: float | None,
    measured_us: float,
) -> str:
    """Return M6 and its factors as a line; a simulation without times from measurements has no M6."""
    if hit_us is None:
        return "No M6: a summary of operators does not show which times are from measurements."
    if m6 is None or not hit_us:
        return (
            "No M6: nothing was measured." if m6 is None else "No M6: no time of the simulation is from measurements."
        )
    return (
        f"M6 {m6:.3f} = coverage {coverage or 0:.3f} x calibration {calibration or 0:.3f} + surplus {surplus or 0:.3f} "
        f"({hit_us:.3f} of {measured_us:.3f} us)"
    )
