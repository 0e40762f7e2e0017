"""Runs the commands shown in README, guides and skills, and inserts their output.

A fenced block `console` holds commands, each after `$ `, and their output. A block `python` is a script; the block
`text` that follows it is its output. A block whose fence has more words, as in `console recorded`, is left alone: its
commands need a file that is not in the repository. A page starts in a folder that contains `playground`, as left by
the demo.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
_BLOCK = re.compile(r"^```(?P<fence>[^\n`]+)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)
_PICTURE = re.compile(r"!\[[^\]]*\]\(([\w-]+\.svg)\)")
_HEAD = re.compile(r"\s*\| head -(\d+)$")


@dataclass(frozen=True)
class Step:
    """One command of a page, and its output.

    Attributes:
        command: the text after `$ `, or a Python script.
        code: exit code.
        output: stdout and stderr, interleaved.
    """

    command: str
    code: int
    output: str


def pages() -> list[Path]:
    """Return the pages whose commands are run."""
    docs = ROOT / "docs"
    return [ROOT / "README.md", *sorted(docs.glob("guide/*.md")), *sorted(docs.glob("skills/*/SKILL.md"))]


def commands(body: str) -> list[str]:
    """Return the commands of a console block. A command continues over lines until its quotes are closed."""
    found: list[str] = []
    for line in body.splitlines():
        if found and not _whole(found[-1]):
            found[-1] += "\n" + line
        elif line.startswith("$ "):
            found.append(line.removeprefix("$ "))
    return found


def console_blocks(text: str) -> list[str]:
    """Return the console blocks of a page, including those that are not run."""
    return [match["body"] for match in _BLOCK.finditer(text) if match["fence"].split()[0] == "console"]


def replay(text: str, playground: Path, pictures: Path | None = None) -> tuple[str, list[Step]]:
    """Run a page's commands in a copy of the playground; return the page with their output, and the steps.

    Args:
        text: the page.
        playground: the folder left by the demo.
        pictures: where pictures go that the commands write and the page shows.
    """
    steps: list[Step] = []
    output = ""

    def fill(match: re.Match[str]) -> str:
        nonlocal output
        fence, body = match["fence"], match["body"]
        if fence == "console":
            ran = [_run(command) for command in commands(body)]
            steps.extend(ran)
            body = "".join(f"$ {step.command}\n{step.output}" for step in ran)
        elif fence == "python":
            steps.append(_python(body))
            output = steps[-1].output
        elif fence == "text" and output:
            body, output = output, ""
        return f"```{fence}\n{body}```"

    with _inside(playground):
        replayed = _BLOCK.sub(fill, text)
        for name in _PICTURE.findall(text) if pictures else ():
            shutil.copy(name, pictures / name)
        return replayed, steps


def main() -> int:
    """Run every page and rewrite it; return 1 if a command failed."""
    failed = 0
    with tempfile.TemporaryDirectory(prefix="tracelake-docs-") as folder:
        playground = make_playground(Path(folder))
        for path in pages():
            text, steps = replay(path.read_text(encoding="utf-8"), playground, path.parent)
            for step in steps:
                if step.code:
                    print(f"{path.relative_to(ROOT)}: ended with {step.code}: {step.command}", file=sys.stderr)
                    print(step.output, file=sys.stderr)
                    failed = 1
            path.write_text(text, encoding="utf-8", newline="\n")
    return failed


def make_playground(folder: Path) -> Path:
    """Run the demo, as the README does, and return the folder it leaves."""
    from tracelake.demo import run

    with contextlib.redirect_stdout(io.StringIO()):
        run(folder / "playground")
    return folder / "playground"


@contextlib.contextmanager
def _inside(playground: Path) -> Iterator[None]:
    """Work in a new folder with a copy of the playground; restore the state of the process that commands change."""
    before, environment = Path.cwd(), dict(os.environ)
    with tempfile.TemporaryDirectory(prefix="tracelake-docs-") as folder:
        shutil.copytree(playground, Path(folder) / "playground")
        os.chdir(folder)
        for name in [name for name in os.environ if name.startswith("TRACELAKE")]:
            del os.environ[name]
        os.environ["XDG_CACHE_HOME"] = str(Path(folder) / ".cache")
        try:
            yield
        finally:
            os.chdir(before)
            os.environ.clear()
            os.environ.update(environment)


def _run(command: str) -> Step:
    """Run one command: tracelake in this process, `cd` and `export` for later commands, others in a shell."""
    head = _HEAD.search(command)
    words = shlex.split(command[: head.start()] if head else command)
    if words[0] == "tracelake":
        code, output = _tracelake(words)
    elif words[0] == "cd":
        os.chdir(words[1])
        code, output = 0, ""
    elif words[0] == "export":
        name, _, value = words[1].partition("=")
        os.environ[name] = value
        code, output = 0, ""
    else:
        done = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)
        code, output = done.returncode, done.stdout + done.stderr
    lines = [line.rstrip() for line in output.strip("\n").splitlines()]
    if head:
        lines = lines[: int(head.group(1))]
    return Step(command, code, "".join(f"{line}\n" for line in lines))


def _tracelake(words: list[str]) -> tuple[int, str]:
    from tracelake.cli import main as run_command_line

    output, arguments = io.StringIO(), sys.argv
    sys.argv = words
    try:
        with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
            run_command_line()
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    finally:
        sys.argv = arguments
    return code, output.getvalue()


def _python(script: str) -> Step:
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        exec(compile(script, "<page>", "exec"), {"__name__": "__main__"})
    lines = [line.rstrip() for line in output.getvalue().strip("\n").splitlines()]
    return Step(script, 0, "".join(f"{line}\n" for line in lines))


def _whole(command: str) -> bool:
    try:
        shlex.split(command)
    except ValueError:
        return False
    return not command.endswith("\\")


if __name__ == "__main__":
    sys.exit(main())
