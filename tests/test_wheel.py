"""What a user installs: the wheel holds the package and nothing else, and works far from the checkout."""

import os
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
LEFT_OUT = shutil.ignore_patterns(".*", "__pycache__", "build", "dist", "*.egg-info", "*.lake", "tracelake", "data")

pytestmark = pytest.mark.slow


def run(*command: str | Path, cwd: Path) -> str:
    """Standard output of a command that must succeed, run where no variable points back to the checkout."""
    misleading = ("PYTHON", "TRACELAKE")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(misleading)}
    done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command} answered {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel built from a copy of the checkout: a build leaves folders behind, and would ship stale ones."""
    folder = tmp_path_factory.mktemp("wheel")
    shutil.copytree(ROOT, folder / "source", ignore=LEFT_OUT)
    build = (sys.executable, "-m", "build", "--wheel", "--no-isolation")
    run(*build, "--outdir", folder, folder / "source", cwd=folder)
    (built,) = folder.glob("*.whl")
    return built


def test_the_wheel_holds_every_module_and_sql_file_and_nothing_else(wheel):
    packages = ("analysis", "assistant", "commands", "engine", "ingest", "reports", "synthetic")
    expected = {path for package in packages for path in (ROOT / package).rglob("*.py")} | {*ROOT.glob("*.py")}
    expected |= {
        ROOT / "py.typed",
        ROOT / "assistant" / "tools.toml",
        *(ROOT / "docs" / "guide").glob("*.md"),
        *(ROOT / "docs" / "skills").rglob("SKILL.md"),
        *(ROOT / "sql").glob("*.toml"),
        *(ROOT / "sql").rglob("*.sql"),
        *(ROOT / "sql").rglob("*.csv"),
    }
    expected |= {
        path for suffix in ("json", "md", "j2", "css", "js") for path in (ROOT / "reports").rglob(f"*.{suffix}")
    }
    shipped = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    assert shipped == {f"tracelake/{path.relative_to(ROOT).as_posix()}" for path in expected}


def test_the_installed_wheel_runs_the_demo_in_another_folder(wheel, tmp_path):
    home = tmp_path / "venv"
    venv.create(home, with_pip=False, symlinks=True)
    python = home / "bin" / "python"
    ask = "import sysconfig; print(sysconfig.get_path('purelib'))"
    packages = Path(run(python, "-c", ask, cwd=tmp_path).strip())
    # Dependencies come from the environment that runs the tests. Its editable install of tracelake stays out:
    # that is a hook in a .pth file, and Python reads those in a site folder only, not in an added path.
    (packages / "dependencies.pth").write_text(
        "\n".join({sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}), encoding="utf-8"
    )
    pip = (sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-index", "--no-deps")
    run(*pip, "--force-reinstall", wheel, cwd=tmp_path)
    where = run(python, "-c", "import tracelake; print(tracelake.__file__)", cwd=tmp_path)
    assert Path(where.strip()).is_relative_to(packages)
    assert run(home / "bin" / "tracelake", "demo", cwd=tmp_path) != ""
