"""The style of `sql/`: what is checked without running anything.

    python tests/lint_sql.py [FOLDER]

Prints one `path:line: message` for each fault and exits with 1 when there is any. That the described columns
are the ones a view really has is the loader's test; this lint reads text alone.
"""

from __future__ import annotations

import re
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import NamedTuple

import duckdb
import sqlglot
from sqlglot import exp

from tracelake.engine.sql import module_files
from tracelake.reports.output import rooms

#: A folder rests on itself and on those that it names, or on all before it.
FOLDERS = rooms.folders()
WIDTH = 100
#: Where rows are stored, of which traces there are any, which relation has the pairs of traces that are read together,
#: whose place it takes.
TAGS = re.compile(
    r"stored: (per (ascend |jax )?trace|in memory|meanwhile)|rows: of (ascend|jax) traces|others: [a-z_]+"
    r"|instead of: [a-z_]+\.[a-z_]+"
)
#: What keys are made of. None is NULL in a key, so that relations join with USING. The rank is an attribute of a trace.
IDS = frozenset({"trace_id", "device", "pass_id", "layer_id", "step_id", "gap_id", "kernel_id", "event_id"})

SNAKE = re.compile(r"[a-z_][a-z0-9_]*")
COLUMN = re.compile(rf"(?P<name>{SNAKE.pattern}) +(?P<type>{module_files.TYPE}) +(?P<text>\S.*)")

TOKEN = re.compile(
    r"""(?P<comment>--[^\n]*|/\*.*?\*/)
      | (?P<string>'(?:[^']|'')*'|\$\$.*?\$\$)
      | (?P<quoted>"(?:[^"]|"")*")
      | (?P<number>\d[\w.]*)
      | (?P<word>[A-Za-z_]\w*)
      | (?P<sign>::|\S)""",
    re.VERBOSE | re.DOTALL,
)

#: Words that are never a name here, reserved or not; `lambda` may be written as Python writes it.
KEYWORDS = frozenset(
    """
    all and anti any as asc asof between by case cast create cross desc distinct else end except exists false
    following for from group having ilike in inner intersect is join lateral like limit macro natural not null
    offset on or order ordinality outer over partition pivot positional preceding qualify recursive select
    semi similar table then true try_cast unbounded union unpivot using view when where window with
    bigint boolean decimal double hugeint integer smallint tinyint ubigint uinteger varchar
    """.split()
)
#: Words that are keywords only beside another word: the word, then what must precede or follow it.
KEYWORDS_AFTER = {
    "exclude": {"*"},
    "first": {"nulls"},
    "last": {"nulls"},
    "materialized": {"as", "not"},
    "replace": {"*", "or"},
    "row": {"current"},
}
KEYWORDS_BEFORE = {
    "current": {"row"},
    "full": {"join", "outer"},
    "groups": {"between", "unbounded", "current"},
    "left": {"join", "outer"},
    "nulls": {"first", "last"},
    "range": {"between", "unbounded", "current"},
    "right": {"join", "outer"},
    "rows": {"between", "unbounded", "current"},
    "values": {"("},
}


#: A line and what is wrong there.
Found = tuple[int, str]


class Fault(NamedTuple):
    """One broken rule, at one line of one file."""

    path: Path
    line: int
    message: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.message}"


class Token(NamedTuple):
    """A word or sign of a SQL text, comments left out."""

    kind: str
    text: str
    line: int
    start: int


@dataclass(frozen=True)
class Header:
    """The comment that opens a file: what a row is, its columns as (name, type, text, line), and those of its key."""

    sentence: str
    columns: tuple[tuple[str, str, str, int], ...]
    key: tuple[str, ...]
    length: int


@dataclass(frozen=True)
class Statement:
    """The statement of a file: `body` is its query, with blanks for what precedes it so that lines count."""

    kind: str
    name: str
    line: int
    body: str


def lint(root: Path) -> list[Fault]:
    """Every fault in the SQL files under `root`, which is the folder `sql` or one built like it."""
    paths = sorted(root.rglob("*.sql"))
    homes: defaultdict[str, list[Path]] = defaultdict(list)
    for path in paths:
        for name in _created(path.read_text(encoding="utf-8")) or (path.stem,):
            homes[name].append(path)
    faults = [
        Fault(path, 1, f"{name} is also defined by {others[0]}: names are shared by all folders")
        for name, others in homes.items()
        for path in others[1:]
    ]
    folders = {name: _folder(found[0], root) for name, found in homes.items()}
    # A schema is of the folder whose relations stand in places there.
    folders |= {schema: _folder(path, root) for path in paths for schema in _schemas(path.read_text(encoding="utf-8"))}
    helpers = {name: found[0] for name, found in homes.items() if found[0].stem != name}
    for path in paths:
        text = path.read_text(encoding="utf-8")
        faults += (
            Fault(path, token.line, f"{token.text} belongs to {helpers[token.text].name}")
            for token in _tokens(text)
            if token.kind == "word" and helpers.get(token.text, path) != path
        )
        faults += (Fault(path, line, message) for line, message in lint_text(path.stem, text, folders))
        if (folder := _folder(path, root)) not in FOLDERS:
            known = ", ".join(FOLDERS)
            faults.append(Fault(path, 1, f"folder {folder!r} has no place in the layering ({known})"))
    return sorted(faults)


def lint_text(stem: str, text: str, folders: Mapping[str, str]) -> Iterator[Found]:
    """Faults of one file's text; `folders` maps each relation of the tree to its folder."""
    yield from _lint_layout(stem, text)
    above = 0
    *helpers, own = module_files.statements(text)
    for helper in helpers:
        yield from ((above + line, message) for line, message in _lint_helper(stem, helper, folders))
        above += helper.count("\n") + 1
    yield from ((above + line, message) for line, message in _lint_relation(stem, own, folders))


def _lint_helper(stem: str, text: str, folders: Mapping[str, str]) -> Iterator[Found]:
    """Faults of a private relation in the file of its one user: a sentence says what it is, without columns."""
    header, faults = read_header(text)
    yield from faults
    if header.columns or header.key:
        yield 1, "a helper in its user's file is described in a sentence, without columns"
    tokens = [*_tokens(text)]
    yield from _lint_case(tokens)
    statement = _read_statement(text, tokens)
    if isinstance(statement, tuple):
        yield statement
        return
    if not statement.name.startswith("_") or statement.kind == "table":
        yield statement.line, f"a file holds one relation, and above it private views of its own: {statement.name}"
    yield from _lint_query(statement, tokens, {**folders, statement.name: folders.get(stem, "")})


def _lint_relation(stem: str, text: str, folders: Mapping[str, str]) -> Iterator[Found]:
    header, faults = read_header(text)
    yield from faults
    tokens = [*_tokens(text)]
    yield from _lint_case(tokens)
    statement = _read_statement(text, tokens)
    if isinstance(statement, tuple):
        yield statement
        return
    if statement.name != stem:
        yield statement.line, f"the file is named {stem} but creates {statement.name}"
    with_tables = [name for name, folder in FOLDERS.items() if folder.tables]
    if statement.kind == "table" and folders.get(stem) not in with_tables:
        yield statement.line, f"tables stand in {' or '.join(with_tables)}: lookup rows, and what is given"
    if statement.kind != "table" and folders.get(stem) == "lookup":
        yield statement.line, "lookup rows stand in a table"
    if statement.kind == "view" and not header.key and not stem.startswith("_") and folders.get(stem) != "invariants":
        yield header.length + 1, "a public relation names its key: `-- key: column, column`"
    for column in sorted({name.rstrip("?") for name in header.key} - {name for name, *_ in header.columns}):
        yield header.length + 1, f"the key's {column} is no column"
    yield from (
        (header.length + 1, f"{name} is no part of a key where it may be NULL, or not at all")
        for name in header.key
        if name == "rank" or (name.rstrip("?") in IDS and name.endswith("?"))
    )
    if not header.columns and statement.kind != "scalar macro":
        yield header.length + 1, "no column is described: a line per column, `-- name TYPE meaning`"
    yield from _lint_query(statement, tokens, folders)


def _created(text: str) -> list[str]:
    """Return the names of what a file creates."""
    return re.findall(r"^CREATE (?:VIEW|TABLE|MACRO) ([a-z_][a-z0-9_]*)", text, re.MULTILINE)


def _schemas(text: str) -> list[str]:
    """Return the schemas in which a file's relations stand in the place of others."""
    return re.findall(r"^-- instead of: ([a-z_]+)\.", text, re.MULTILINE)


def read_header(text: str) -> tuple[Header, list[Found]]:  # noqa: C901
    """The opening comment of a file, and what is wrong with it."""
    sentence: list[str] = []
    columns: list[tuple[str, str, str, int]] = []
    key: list[str] = []
    faults = []
    length, prose_ended, in_key = 0, False, False
    for length, line in enumerate(text.splitlines(), 1):
        if not line.startswith("--"):
            length -= 1  # noqa: PLW2901
            break
        words = line[2:].strip()
        in_key = words.startswith("key: ") or (in_key and bool(words))
        if words.startswith(("stored:", "rows:", "others:", "instead of:")):
            faults += [] if TAGS.fullmatch(words) else [(length, f"no such tag: `-- {words}`")]
        elif in_key:
            key += re.findall(r"[a-z_]+\??", words.removeprefix("key: "))
        elif match := COLUMN.fullmatch(words):
            if line.startswith("--  "):
                faults.append((length, "reads as a column: put one space before its name, or reword"))
            if match["name"] in {name for name, *_ in columns}:
                faults.append((length, f"column {match['name']} is described twice"))
            columns.append((match["name"], match["type"], match["text"], length))
        elif columns:
            if not line.startswith("--   "):
                faults.append((length, "not a column line (`-- name TYPE meaning`); prose goes before them"))
            name, kind, meaning, number = columns[-1]
            columns[-1] = (name, kind, f"{meaning} {words}", number)
        elif not words:
            prose_ended = True
        elif not prose_ended:
            sentence.append(words)
    first = " ".join(sentence)
    if not re.match(r"[A-Z].*?\.(?:\s|$)", first):
        faults.append((1, "the file opens with a sentence in a comment, capital to full stop: what a row is"))
    return Header(first, tuple(columns), tuple(key), length), faults


def _folder(path: Path, root: Path) -> str:
    """Return the folder of `sql` that a file is in; folders in that one are its rooms."""
    return next(iter(path.relative_to(root).parent.parts), "")


def _lint_layout(stem: str, text: str) -> Iterator[Found]:
    if not SNAKE.fullmatch(stem):
        yield 1, f"{stem!r} is no lower snake case name"
    for number, line in enumerate(text.splitlines(), 1):
        if len(line) > WIDTH:
            yield number, f"{len(line)} columns wide, the limit is {WIDTH}"
        if "\t" in line:
            yield number, "a tab: indent with spaces"
        if line != line.rstrip():
            yield number, "space at the end of the line"
    if not text.endswith("\n") or text.endswith("\n\n"):
        yield text.count("\n") + 1, "the file ends with exactly one line break"


def _tokens(text: str) -> Iterator[Token]:
    line, seen = 1, 0
    for match in TOKEN.finditer(text):
        line += text.count("\n", seen, match.start())
        seen = match.start()
        if match.lastgroup and match.lastgroup != "comment":
            yield Token(match.lastgroup, match.group(), line, match.start())


@cache
def _upper_words() -> frozenset[str]:
    """Words that may stand in upper case: DuckDB's keywords and types."""
    with duckdb.connect() as connection:
        rows = connection.execute(
            "SELECT lower(keyword_name) FROM duckdb_keywords() UNION SELECT lower(type_name) FROM duckdb_types()"
        ).fetchall()
    return frozenset(word for (word,) in rows) | {"macro", "asof", "try_cast"}


def _lint_case(tokens: list[Token]) -> Iterator[Found]:
    words = ["", *(token.text.lower() for token in tokens), "", ""]
    for index, token in enumerate(tokens, 1):
        before, word, after = words[index - 1 : index + 2]
        if token.kind == "quoted" and not SNAKE.fullmatch(token.text.strip('"')):
            yield token.line, f"names are lower snake case: {token.text}"
        if token.kind != "word":
            continue
        is_keyword = before != "." and (
            word in KEYWORDS
            or before == "::"
            or before in KEYWORDS_AFTER.get(word, ())
            or after in KEYWORDS_BEFORE.get(word, ())
            or (word == "filter" and words[index + 1 : index + 3] == ["(", "where"])
        )
        if is_keyword and not token.text.isupper():
            yield token.line, f"keywords and types are upper case: {token.text}"
        elif not is_keyword and token.text != word and not (token.text.isupper() and word in _upper_words()):
            yield token.line, f"names are lower snake case: {token.text}"


def _read_statement(text: str, tokens: list[Token]) -> Statement | Found:
    """The one statement of a file, or the fault (line, message) that it is not one."""
    words = [token.text.upper() for token in tokens]
    if len(words) < 4 or words[0] != "CREATE" or words[1] not in {"VIEW", "TABLE", "MACRO"}:
        return tokens[0].line if tokens else 1, "a file holds one CREATE VIEW, TABLE or MACRO"
    semicolons = [index for index, word in enumerate(words) if word == ";"]
    if semicolons and semicolons[0] < len(words) - 1:
        return tokens[semicolons[0] + 1].line, "a file holds one relation: a second statement begins here"
    name, kind, at = tokens[2], words[1].lower(), 3
    if kind == "table":
        return Statement(kind, name.text, name.line, text)
    if kind == "macro":  # sqlglot does not read defaults in a macro's signature, so step over it
        depth = 0
        for at in range(3, len(words)):
            depth += {"(": 1, ")": -1}.get(words[at], 0)
            if depth == 0:
                break
        at += 1
        kind = "table macro" if words[at : at + 2] == ["AS", "TABLE"] else "scalar macro"
    if words[at : at + 1] != ["AS"]:
        return name.line, f"AS is expected after CREATE {words[1]} {name.text}"
    if kind == "view" and not re.match(r" AS\n", text[tokens[at].start - 1 :]):
        return name.line, "AS ends its line: the query begins on the next"
    at += 2 if kind == "table macro" else 1
    start = tokens[at].start if at < len(tokens) else len(text)
    body = re.sub(r"[^\n]", " ", text[:start]) + text[start:]
    return Statement(kind, name.text.strip('"'), name.line, body)


def _lint_query(statement: Statement, tokens: list[Token], folders: Mapping[str, str]) -> Iterator[Found]:
    try:
        tree = sqlglot.parse_one(statement.body, dialect="duckdb")
    except sqlglot.errors.SqlglotError as error:
        line = next((detail.get("line") for detail in getattr(error, "errors", ())), None)
        yield line or statement.line, f"cannot be parsed: {str(error).splitlines()[0]}"
        return
    for equal in tree.find_all(exp.NullSafeEQ):
        names = {side.name for side in (equal.this, equal.expression) if isinstance(side, exp.Column)}
        if names & (IDS | {"rank"}) and not isinstance(equal.find_ancestor(exp.Select, exp.Join), exp.Select):
            yield statement.line, f"{', '.join(sorted(names))} are keys: join with = or USING"
    for window in tree.find_all(exp.Window):
        yield from ((statement.line, message) for message in _lint_window(window))
    stars = [star for star in tree.find_all(exp.Star) if not isinstance(star.parent, exp.Count)]
    if stars and not statement.name.startswith("_"):
        yield _star_line(tokens) or statement.line, "SELECT * in a public relation: name the columns"
    home = folders.get(statement.name, "")
    for name, line in sorted(set(_references(tree))):
        folder = folders.get(name)
        if folder is None or folder == home:
            continue
        if name.startswith("_"):
            yield line or statement.line, f"{name} is private to {folder}"
        elif home in FOLDERS and folder not in FOLDERS[home].rests_on:
            yield line or statement.line, f"{home} may not build on {name}: {folder} is not below it"


def _lint_window(window: exp.Window) -> Iterator[str]:
    if "rank" in {part.name for part in window.args.get("partition_by") or () if isinstance(part, exp.Column)}:
        yield "rank is an attribute of the trace, no part of a PARTITION BY"
    parts = list(_with_named(window))
    is_filtered_count = isinstance(window.this, exp.Filter) and isinstance(window.this.this, exp.Count)
    if is_filtered_count and any(part.args.get("order") for part in parts):
        yield "a running count FILTER takes DuckDB quadratic time: count(CASE WHEN … THEN 1 END)"
    if isinstance(window.this, (exp.Min, exp.Max, exp.Sum, exp.Count)) and any(map(_is_onwards, parts)):
        yield "a frame to the end takes DuckDB ten times as long as one from the beginning: ORDER BY … DESC"


def _with_named(window: exp.Window) -> Iterator[exp.Window]:
    """A window, and those of its query that it is made of: what it names, what that names."""
    query = window.find_ancestor(exp.Select)
    named = {one.name: one for one in (query.args.get("windows") or () if query else ())}
    base: exp.Window | None = window
    while base is not None:
        yield base
        base = named.pop(base.args["alias"].name, None) if base.args.get("alias") else None


def _is_onwards(window: exp.Window) -> bool:
    """Whether the frame that a window has itself goes from a row to the last."""
    spec = window.args.get("spec")
    sides = [spec.args.get(side) for side in ("start", "end", "end_side")] if spec else []
    return sides[1:] == ["UNBOUNDED", "FOLLOWING"] and sides[0] != "UNBOUNDED"


def _star_line(tokens: list[Token]) -> int | None:
    previous = ["", *(token.text.upper() for token in tokens)]
    starts = {"SELECT", "DISTINCT", ",", "."}
    pairs = zip(previous, tokens, strict=False)
    return next((token.line for word, token in pairs if token.text == "*" and word in starts), None)


def _references(tree: exp.Expr) -> Iterator[tuple[str, int]]:
    """Relations, schemas and macros that a query names, common table expressions left out."""
    for table in tree.find_all(exp.Table):
        if table.db:
            yield table.db.lower(), 0
        if isinstance(table.this, exp.Identifier) and not _is_cte(table):
            yield table.name.lower(), table.this.meta.get("line", 0)
    for call in tree.find_all(exp.Anonymous):
        yield call.name.lower(), call.meta.get("line", 0)


def _is_cte(table: exp.Table) -> bool:
    """Does the name mean a WITH of an enclosing query? A CTE sees those before it, itself when recursive."""
    inside: exp.Expr = table
    while (query := inside.parent) is not None:
        with_ = query if isinstance(query, exp.With) else query.args.get("with_")
        if isinstance(with_, exp.With) and with_ is not inside:
            for cte in with_.expressions:
                if cte is inside and not with_.recursive:
                    break
                if cte.alias.lower() == table.name.lower():
                    return True
        inside = query
    return False


def main() -> int:
    """Lint the folder named on the command line, or the package's own `sql`."""
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parent.parent / "sql"
    faults = lint(root)
    for fault in faults:
        print(fault)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
