"""The documentation keeps up with the code: nothing undocumented, no dead link, no command that does not exist."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from tracelake.cli import cli
from tracelake.docs import build, pictures, replay
from tracelake.engine.sql import modules

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
PUBLIC = [entry for entry in modules.modules() if entry.public and entry.folder != "invariants"]

LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")
FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
HEADING = re.compile(r"^#+ +(.+?)\s*$", re.MULTILINE)


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def anchors(page: Path) -> set[str]:
    """Anchors of a page's headings, made as GitHub makes them."""
    headings = HEADING.findall(FENCED.sub("", page.read_text(encoding="utf-8")))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def shown_commands(page: Path) -> Iterator[list[str]]:
    """The arguments of every `tracelake` command in a page's console blocks."""
    for block in replay.console_blocks(page.read_text(encoding="utf-8")):
        for command in replay.commands(block):
            words = shlex.split(command, comments=True)
            if words[0] == "tracelake":
                yield words[1 : words.index("|")] if "|" in words else words[1:]


def parse(arguments: list[str]) -> None:
    """Parse a command line as click does, without running it."""
    group = cli.make_context("tracelake", list(arguments))
    name, command, rest = cli.resolve_command(group, [*group._protected_args, *group.args])
    assert name is not None
    assert command is not None
    try:
        command.make_context(name, rest, parent=group)
    except click.exceptions.Exit:
        assert "--help" in arguments


def test_every_command_has_a_section():
    commands = build.REFERENCE / "commands.md"
    assert set(cli.commands) - anchors(commands) == set()


def test_every_option_is_on_the_page_of_commands():
    text = (build.REFERENCE / "commands.md").read_text(encoding="utf-8")
    shown = [
        option for command in cli.commands.values() for option in command.params if not getattr(option, "hidden", False)
    ]
    options = {name for option in shown for name in option.opts}
    assert {name for name in options if name.startswith("-") and f"`{name}" not in text} == set()


def test_every_public_relation_has_a_section_with_its_columns():
    for folder in sorted({entry.folder for entry in PUBLIC}):
        sections = (build.REFERENCE / "sql" / f"{folder}.md").read_text(encoding="utf-8").split("\n## ")[1:]
        columns = {
            section.split("\n", 1)[0]: re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE) for section in sections
        }
        public = {entry.name: [column.name for column in entry.columns] for entry in PUBLIC if entry.folder == folder}
        assert columns == public


def test_a_picture_shows_what_a_relation_rests_on_by_way_of_private_ones():
    """`gap_regions` reads private views alone; the gaps that these read are an arrow of it."""
    gap_regions = modules.module("gap_regions")
    assert gap_regions is not None
    assert "gaps" not in gap_regions.uses
    drawn = pictures.of_folder("timeline")
    assert "  gaps --> gap_regions" in drawn
    assert f'  gap_regions["gap_regions<br>{", ".join(gap_regions.key)}"]' in drawn
    assert any(line.startswith("  kernels([") for line in drawn)
    # Private views are drawn where their rows are stored.
    private = {line.split("[")[0].strip() for line in drawn if line.startswith("  _") and "-->" not in line}
    assert private
    assert all(one is not None and one.materialised for one in map(modules.module, private))
    assert pictures.of_folder("lookup") == []
    assert {"  core --> layers", "  model --> match"} <= set(pictures.way_of_an_event())
    assert "  core --> model" not in pictures.way_of_an_event()


def test_private_relations_are_not_part_of_the_reference():
    pages = [build.REFERENCE / "sql.md", *(build.REFERENCE / "sql").glob("*.md")]
    assert {name for page in pages for name in anchors(page) if name.startswith("_")} == set()


def test_the_check_names_the_page_that_is_stale(tmp_path):
    build.write(tmp_path)
    assert build.stale(tmp_path) == []
    with (tmp_path / "sql.md").open("a", encoding="utf-8") as page:
        page.write("by hand\n")
    assert [path.name for path in build.stale(tmp_path)] == ["sql.md"]
    (tmp_path / "commands.md").unlink()
    assert [path.name for path in build.stale(tmp_path)] == ["commands.md", "sql.md"]


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_relative_link_leads_somewhere(page):
    text = FENCED.sub("", page.read_text(encoding="utf-8"))
    dead = []
    for link in LINK.findall(text):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            dead.append(link)
    assert dead == []


def test_the_index_leads_to_every_page():
    index = ROOT / "docs" / "index.md"
    linked = {(index.parent / link.partition("#")[0]).resolve() for link in LINK.findall(index.read_text("utf-8"))}
    # One page lists the relations, and leads to those of the folders.
    of_folders = set((build.REFERENCE / "sql").glob("*.md"))
    assert set((ROOT / "docs").rglob("*.md")) - {index} - linked - of_folders == set()
    listed = (build.REFERENCE / "sql.md").read_text("utf-8")
    assert {page for page in of_folders if f"](sql/{page.name})" not in listed} == set()


@pytest.mark.parametrize("page", replay.pages(), ids=name_of)
def test_every_command_shown_is_one_that_the_command_line_knows(page):
    shown = list(shown_commands(page))
    assert shown
    for arguments in shown:
        try:
            parse(arguments)
        except click.BadParameter as error:
            # A file that the reader is to write first may be missing; all else is wrong.
            if "does not exist" not in error.message:
                raise


@pytest.mark.parametrize(
    "wrong", [["layer", "demo"], ["layers", "demo", "--latest"], ["layers"], ["traces", "--format", "xml"]]
)
def test_a_command_that_does_not_exist_is_found_out(wrong):
    with pytest.raises(click.UsageError):
        parse(wrong)


def test_a_command_goes_on_until_its_quotes_are_closed():
    body = '$ tracelake sql "SELECT 1\n  AS one"\n one\n ───\n   1\n$ ls\nlake\n'
    assert replay.commands(body) == ['tracelake sql "SELECT 1\n  AS one"', "ls"]


@pytest.fixture(scope="module")
def playground(tmp_path_factory):
    return replay.make_playground(tmp_path_factory.mktemp("docs"))


@pytest.mark.slow
@pytest.mark.parametrize("page", [ROOT / "README.md", *sorted((ROOT / "docs" / "skills").rglob("*.md"))], ids=name_of)
def test_the_tour_of_the_readme_and_the_skills_runs_and_prints_what_they_show(page, playground):
    text = page.read_text(encoding="utf-8")
    ran, steps = replay.replay(text, playground)
    assert len(steps) > 8
    assert [(step.command, step.output) for step in steps if step.code] == []
    assert ran == text, "outputs have changed; `make docs` writes them anew"


def test_a_skill_says_when_it_is_to_be_used():
    """Assistants choose a skill by name and description alone; both have lengths at most."""
    for page in (ROOT / "docs" / "skills").rglob("*.md"):
        head = re.match(r"---\nname: ([a-z0-9-]{1,64})\ndescription: >-\n((?:  .+\n)+)---\n", page.read_text("utf-8"))
        assert head is not None
        assert head[1] == page.parent.name
        assert len(head[2]) < 1024
        assert "Use it when" in head[2]
