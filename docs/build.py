"""Writes the generated documentation: reference pages, a picture, the output of the commands shown.

python docs/build.py          writes docs/reference/*.md and the README's picture, then runs the commands shown in
                              README and guide again
python docs/build.py --check  exits with 1 and lists the reference pages that are not up to date
"""

from __future__ import annotations

import argparse
import functools
import inspect
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import click

from tracelake.cli import cli
from tracelake.docs import pictures, replay, terminal
from tracelake.engine.sql import modules
from tracelake.lake import Lake
from tracelake.reports.output import rooms

REFERENCE = Path(__file__).resolve().parent / "reference"
_GENERATED = "<!-- Written by docs/build.py; change the {what} instead. -->\n\n"


def pages() -> dict[str, Callable[[], str]]:
    """Return the reference pages: file name -> function that returns the text."""
    of_folders = {f"sql/{folder}.md": functools.partial(folder_page, folder) for folder in _by_folder()}
    return {"commands.md": commands_page, "sql.md": sql_page, **of_folders}


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


@functools.cache
def _by_folder() -> dict[str, list[modules.Module]]:
    """Return the public relations of each folder, lowest folder first."""
    public = [entry for entry in modules.modules() if entry.public and entry.folder != "invariants"]
    return {
        folder: sorted((entry for entry in public if entry.folder == folder), key=lambda entry: entry.name)
        for folder in sorted({entry.folder for entry in public}, key=rooms.place)
    }


def sql_page() -> str:
    """Return the page that lists the public relations, with links to their pages."""
    lines = [
        "# SQL relations",
        "",
        "Every public relation of a lake, by the folder of `sql/` that it is in. A folder rests on those before it.",
        "`tracelake schema RELATION` shows the same on the command line with the SQL, and the comments in an exported",
        "database carry it to other tools.",
        "",
        "Names and columns are a contract; columns may be added. Times in columns ending `_ns` are whole nanoseconds",
        "on the trace file's own clock; `_us`, `_ms` and `_pct` are measures for people. A column without a unit is a",
        "count or a name.",
        "",
        "No two rows of a relation agree in all columns of its key. Relations that share such columns join with",
        "`USING`; a device, pass, layer, step, gap, kernel or event that is part of a key is never NULL.",
        "",
        "```mermaid",
        *pictures.way_of_an_event(),
        "```",
        "",
    ]
    for folder, entries in _by_folder().items():
        lines += [f"## [{folder}](sql/{folder}.md)", "", f"{_sentence(rooms.folders()[folder].holds)}", ""]
        lines += [f"- [{entry.name}](sql/{folder}.md#{entry.name}): {_first_sentence(entry.doc)}" for entry in entries]
        lines.append("")
    return _GENERATED.format(what="comments in sql/**") + "\n".join(lines).rstrip() + "\n"


def folder_page(folder: str) -> str:
    """Return the page of one folder: how its relations depend on each other, and the columns of each."""
    lines = [f"# SQL relations: {folder}", "", _sentence(rooms.folders()[folder].holds), ""]
    if drawn := pictures.of_folder(folder):
        lines += [
            "What rests on what, directly or by way of private views. Boxes with two edges are stored per trace,",
            "rounded ones belong to other folders. Below a name is its key.", "", "```mermaid", *drawn, "```", "",
        ]  # fmt: skip
    for entry in _by_folder()[folder]:
        lines += _relation(entry)
    return _GENERATED.format(what=f"comments in sql/{folder}/**") + "\n".join(lines).rstrip() + "\n"


def _relation(entry: modules.Module) -> Iterator[str]:
    yield from (f"## {entry.name}", "", _escaped(entry.doc), "")
    if entry.columns:
        yield from ("| column | type | meaning |", "|---|---|---|")
        yield from (f"| `{column.name}` | {column.type} | {_escaped(column.text)} |" for column in entry.columns)
        yield ""
    if entry.key:
        yield from (f"Key: {', '.join(f'`{column}`' for column in entry.key)}.", "")
    if entry.materialised:
        yield from ("Stored per trace.", "")
    yield from (f"SQL: {_link(entry.path)}.", "")
    if (rows := entry.path.with_suffix(".csv")).exists():
        yield from (f"Rows: {_link(rows)}.", "")


def _link(path: Path) -> str:
    place = path.relative_to(modules.SQL_ROOT.parent).as_posix()
    return f"[{place}](../../../{place})"


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."


def _first_sentence(text: str | None) -> str:
    paragraph = " ".join((text or "").split("\n\n")[0].split())
    return _escaped(paragraph.split(". ")[0].rstrip("."))


def _escaped(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")


def stale(folder: Path = REFERENCE) -> list[Path]:
    """Return the reference pages in `folder` that are missing or out of date."""
    return [
        path
        for path in (folder / name for name in pages())
        if not path.is_file() or path.read_text(encoding="utf-8") != pages()[path.relative_to(folder).as_posix()]()
    ]


def write(folder: Path = REFERENCE) -> None:
    """Write the reference pages."""
    (folder / "sql").mkdir(parents=True, exist_ok=True)
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
    terminal.write()
    return replay.main()


if __name__ == "__main__":
    sys.exit(main())
