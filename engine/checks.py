"""Whether the files of a lake agree with its tables and catalog: what `doctor` checks besides the answers."""

from __future__ import annotations

from .catalog import reading
from .damage import Probe
from .errors import InputError
from .sql import modules
from .storage.layout import Layout
from .storage.paths import plain_folders
from .stored import Stored


def faults(layout: Layout) -> list[str]:
    """Return the faults of a lake's files, a sentence each; every file of a table is read in full."""
    answers = Stored(layout)
    tables = answers.tables
    found = []
    with Probe() as probe:
        for name in tables.names():
            try:
                files = tables.named(name)
            except InputError as error:
                found.append(str(error))
                continue
            reasons = (probe.fault([file.path], whole=True, columns=("trace_id",)) for file in files)
            found += [reason for reason in reasons if reason]
    if found:
        # Unreadable tables cannot be compared.
        return found
    with reading(tables, layout.root) as (catalog, _):
        answers.catalog = catalog
    for entry in modules.relations():
        if entry.name not in modules.stored():
            continue
        found += [
            f"{one}: rows of {entry.name} are missing. Compute them: tracelake compute {one}"
            for one in sorted(answers.without_rows(entry))
        ]
    of_traces = {layout.event_dir(one) for one in answers.catalog.states}
    found += [
        f"{folder}: events of no trace in the catalog, which nothing reads. `compact --vacuum` removes them."
        for folder in plain_folders(layout.events)
        if folder not in of_traces
    ]
    return found
