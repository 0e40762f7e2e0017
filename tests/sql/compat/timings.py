"""Questions to the reference's compute simulator, and a layer's kernels, as rows of the tables they are asked in."""

from collections.abc import Sequence
from typing import Any


def ask(lake: Any, **question: Any) -> str:
    """Insert a question and return its name; what it leaves out has the simulator's default."""
    connection = lake.prepare("SELECT 1 FROM compat_requests")
    [(known,)] = lake.rows("SELECT count(*) FROM compat_requests")
    request = f"question {known}"
    names = ["request", *question]
    connection.execute(
        f"INSERT INTO compat_requests ({', '.join(names)}) VALUES ({', '.join('?' * len(names))})",
        [request, *question.values()],
    )
    return request


def insert_layer(lake: Any, request: str, form: str, kernels: Sequence[tuple[str, float]], **metadata: Any) -> None:
    """Insert the times of a layer's kernels, and their sums per category in the order in which those come."""
    connection = lake.prepare("SELECT 1 FROM timing_metadata, category_timings, kernel_timings")
    names = ["request", "form", *metadata]
    connection.execute(
        f"INSERT INTO timing_metadata ({', '.join(names)}) VALUES ({', '.join('?' * len(names))})",
        [request, form, *metadata.values()],
    )
    sums: dict[str, float] = {}
    for category, us in kernels:
        sums[category] = sums.get(category, 0) + us
    for position, (category, us) in enumerate(sums.items()):
        connection.execute(
            "INSERT INTO category_timings (request, position, category, dur_us) VALUES (?, ?, ?, ?)",
            [request, position, category, us],
        )
    if form != "kernel_ms":
        for position, (category, us) in enumerate(kernels):
            connection.execute(
                "INSERT INTO kernel_timings (request, position, category, name, dur_us) VALUES (?, ?, ?, ?, ?)",
                [request, position, category, category, us],
            )
