"""Writes what the documentation repeats of the code: the reference pages, and the outputs shown beside commands.

python docs/build.py          writes docs/reference/*.md, then runs the commands shown in README and guide again
python docs/build.py --check  ends with 1 and names the reference pages that are not up to date
"""

from __future__ import annotations

import argparse
import inspect
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import click

from tracelake.cli import cli
from tracelake.docs import replay
from tracelake.engine import modules
from tracelake.lake import Lake

REFERENCE = Path(__file__).resolve().parent / "reference"
FOLDERS = {
    "core": "traces, their events and device operations",
    "layers": "forward passes and the layers in them",
    "timeline": "where the time of a trace goes",
    "ascend": "what tables of Ascend kernels say beyond times: counters, work, the profiler's own sums, simulators",
    "model": "what the work should cost",
    "compare": "traces beside each other, and whether one can be trusted",
    "perfetto": "what a timeline viewer is given",
    "reference": "rules and figures, as tables a user can add to",
}
_GENERATED = "<!-- Written by docs/build.py; change the {what} instead. -->\n\n"


def pages() -> dict[str, Callable[[], str]]:
    """Return the reference pages: file name -> what gives its text."""
    return {"commands.md": commands_page, "sql.md": sql_page}


def commands_page() -> str:
    """Return the page of commands, from the command line's own help."""
    group = click.Context(cli, info_name="tracelake")
    lines = [
        "# Commands",
        "",
        "What `tracelake COMMAND --help` says, for every command. The answer goes to stdout, everything else to",
        "stderr. Exit codes: 0 answered, 1 a check failed or there is nothing to show, 2 the question is wrong, 3 the",
        "input is unusable.",
        "",
        *(f"- [{name}](#{name}): {_first_sentence(command.help)}" for name, command in cli.commands.items()),
        "",
        "## tracelake",
        "",
        *_command(cli, group),
    ]
    for name, command in cli.commands.items():
        lines += [f"## {name}", "", *_command(command, click.Context(command, info_name=name, parent=group))]
        if method := getattr(Lake, name, None):
            lines += [f"In Python: `lake.{name}({_parameters(method)})`", ""]
    return _GENERATED.format(what="help texts in cli.py and commands/") + "\n".join(lines)


def _command(command: click.Command, context: click.Context) -> Iterator[str]:
    usage = " ".join([context.command_path, *command.collect_usage_pieces(context)])
    yield from ("```text", usage, "```", "")
    for paragraph in inspect.cleandoc(command.help or "").split("\n\n"):
        if paragraph.startswith("\b"):
            title, *examples = paragraph.removeprefix("\b\n").splitlines()
            yield from (title, "", "```text", *(line.strip() for line in examples), "```", "")
        else:
            yield from (_escaped(paragraph), "")
    yield from ("| option | meaning |", "|---|---|")
    for option in command.params:
        if isinstance(option, click.Option) and not option.hidden:
            yield f"| {_names(option)} | {_meaning(option)} |"
    yield ""


def _names(option: click.Option) -> str:
    kind = option.type
    value = option.metavar or (
        "|".join(map(str, kind.choices)) if isinstance(kind, click.Choice) else kind.name.upper()
    )
    names = [*option.opts[:-1], option.opts[-1] if option.is_flag else f"{option.opts[-1]} {value}"]
    return ", ".join(f"`{name}`" for name in names).replace("|", "\\|")


def _meaning(option: click.Option) -> str:
    notes = []
    if option.required:
        notes.append("Required.")
    if option.multiple:
        notes.append("May be given more than once.")
    if isinstance(option.type, click.IntRange) and option.type.min is not None:
        notes.append(f"At least {option.type.min}.")
    if option.show_default and option.default is not None:
        notes.append(f"Default: {option.default}.")
    if option.envvar:
        notes.append(f"Also from the environment: `{option.envvar}`.")
    return _escaped(" ".join([option.help or "Format of the files.", *notes]))


def _parameters(method: Callable[..., object]) -> str:
    parameters = list(inspect.signature(method).parameters.values())[1:]
    return ", ".join(str(parameter.replace(annotation=inspect.Parameter.empty)) for parameter in parameters)


def sql_page() -> str:
    """Return the page of relations, from the header comments of their SQL."""
    public = [entry for entry in modules.modules() if entry.public and entry.folder != "invariants"]
    folders = sorted({entry.folder for entry in public}, key=lambda folder: (*FOLDERS, folder).index(folder))
    by_folder = {
        folder: sorted((entry for entry in public if entry.folder == folder), key=lambda entry: entry.name)
        for folder in folders
    }
    lines = [
        "# SQL relations",
        "",
        "Every public relation of a lake: what a row is, what each column means, and the SQL behind it. Names and",
        "columns are a contract; columns may be added. `tracelake schema RELATION` says the same on the command line,",
        "and the comments in an exported database carry it to other tools.",
        "",
        "Times in columns ending `_ns` are whole nanoseconds on the trace file's own clock; `_us`, `_ms` and `_pct`",
        "are measures for people. A column without a unit is a count or a name.",
        "",
    ]
    for folder, entries in by_folder.items():
        lines += [f"**{folder}**: {FOLDERS.get(folder, '')}", ""]
        lines += [f"- [{entry.name}](#{entry.name}): {_first_sentence(entry.doc)}" for entry in entries]
        lines.append("")
    for folder, entries in by_folder.items():
        lines += [f"## Folder {folder}", ""]
        for entry in entries:
            lines += _relation(entry)
    return _GENERATED.format(what="comments in sql/**") + "\n".join(lines).rstrip() + "\n"


def _relation(entry: modules.Module) -> Iterator[str]:
    yield from (f"### {entry.name}", "", _escaped(entry.doc), "")
    if entry.folder == "reference":
        yield from (f"Its rows: [{entry.name}.csv](../../sql/reference/{entry.name}.csv).", "")
    if entry.columns:
        yield from ("| column | type | meaning |", "|---|---|---|")
        yield from (f"| `{column.name}` | {column.type} | {_escaped(column.text)} |" for column in entry.columns)
        yield ""
    yield from ("<details><summary>SQL</summary>", "", "```sql", entry.sql.rstrip(), "```", "", "</details>", "")


def _first_sentence(text: str | None) -> str:
    paragraph = " ".join((text or "").split("\n\n")[0].split())
    return _escaped(paragraph.split(". ")[0].rstrip("."))


def _escaped(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")


def stale(folder: Path = REFERENCE) -> list[Path]:
    """Return the reference pages in `folder` that are missing or differ from what would be written."""
    return [
        path
        for path in (folder / name for name in pages())
        if not path.is_file() or path.read_text(encoding="utf-8") != pages()[path.name]()
    ]


def write(folder: Path = REFERENCE) -> None:
    """Write the reference pages."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in pages().items():
        (folder / name).write_text(text(), encoding="utf-8", newline="\n")


def main() -> int:
    """Write or check; return the exit code."""
    parser = argparse.ArgumentParser(description="Write the generated parts of the documentation.")
    parser.add_argument("--check", action="store_true", help="only say which reference pages are not up to date")
    if parser.parse_args().check:
        outdated = stale()
        for path in outdated:
            print(f"{path.relative_to(REFERENCE.parents[1])}: not up to date; run: make docs", file=sys.stderr)
        return 1 if outdated else 0
    write()
    return replay.main()


if __name__ == "__main__":
    sys.exit(main())
