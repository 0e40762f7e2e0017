"""A share above 100 % has its reason beside it: a decode on MI300X, taken for a larger model on an L4."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from tracelake.cli import cli
from tracelake.engine.sql import modules
from tracelake.lake import Lake

from ..support import data_file

TRACE = "vllm_gpt-oss_decode_mi300x"
#: Columns that are no share of a whole: changes, errors and gains have no bound.
_NO_SHARES = re.compile(r"change|diff|error|gain|improvement")
#: Fractions of a peak or a bound in public relations of a trace, beside which a reason stands.
FRACTIONS = {
    "kernel_roofline": ("mfu", "mbu", "group_mfu", "roofline_eff", "attainable_eff"),
    "op_roofline": ("mfu", "mbu", "roofline_eff", "attainable_eff"),
    "layer_roofline": ("mfu", "mbu", "roofline_eff"),
    "pass_mfu": ("mfu", "mbu", "roofline_eff", "cluster_mfu"),
    "measured_vs_modelled": ("efficiency",),
}
PERCENTS = {"timing_units": ("mfu_pct", "mbu_pct")}


@pytest.fixture(scope="module")
def wrong(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lake of the one trace, with a model of five times its experts and a chip of a tenth of its bandwidth."""
    path = tmp_path_factory.mktemp("wrong") / "lake"
    with Lake(path) as lake:
        lake.ingest(data_file(f"kineto/{TRACE}.json.gz"), model="gpt-oss-120b", hardware="l4")
    return path


@pytest.fixture
def run(wrong: Path):
    """Return what a command prints on stdout, whatever its exit code."""
    return lambda *words: CliRunner().invoke(cli, ["--lake", str(wrong), *words], catch_exceptions=False).stdout


def unexplained(rows: list[dict[str, object]]) -> list[dict[str, object]]:
    """Return the rows with a share above 100 % and without a reason."""
    return [
        row
        for row in rows
        if any(
            key.endswith("_pct") and isinstance(value, int | float) and value > 100.05 and not _NO_SHARES.search(key)
            for key, value in row.items()
        )
        and not any(row.get(key) for key in ("over_100_causes", "target_note", "message"))
    ]


def objects(found: object) -> list[dict[str, object]]:
    """Return every object of a JSON document."""
    if isinstance(found, list):
        return [inner for item in found for inner in objects(item)]
    if isinstance(found, dict):
        return [found, *(inner for item in found.values() for inner in objects(item))]
    return []


def test_every_share_of_a_bound_above_1_names_causes_and_no_other_does(wrong):
    with Lake(wrong) as lake:
        for name, columns in (FRACTIONS | PERCENTS).items():
            bound = 1 if name in FRACTIONS else 100
            over = f"coalesce(greatest({', '.join(columns)}) > {bound}, FALSE)"
            [(above, silent)] = lake.sql(
                f"SELECT count(*) FILTER ({over}), count(*) FILTER ({over} AND over_100_causes IS NULL) FROM {name}"
            ).fetchall()
            assert above > 0, name
            assert silent == 0, name


@pytest.mark.parametrize("name", FRACTIONS | PERCENTS)
def test_the_relation_says_where_the_reason_stands(name):
    entry = modules.module(name)
    assert entry is not None
    assert "over_100_causes" in {column.name for column in entry.columns}


@pytest.mark.parametrize(
    "words", [("model", "mfu", TRACE), ("model", "kernels", TRACE), ("model", "measured", TRACE)], ids=lambda w: w[1]
)
def test_json_of_a_command_has_the_reason_in_the_object(run, words):
    found = objects(json.loads(run(*words, "--format", "json")))
    assert unexplained(found) == []
    assert any(row.get("over_100_causes") for row in found)


def silent_rows(text: str) -> tuple[list[dict[str, str]], int]:
    """Return the rows of Markdown tables with a share above 100 % and no reason, and how many have one."""
    silent, explained, head = [], 0, []
    for line in text.splitlines():
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if not cells:
            head = []
        elif not head:
            head = cells
        else:
            row = dict(zip(head, cells, strict=True))
            shares = [
                float(number.group(1))
                for name, cell in row.items()
                if not _NO_SHARES.search(name)
                and (number := re.match(r"(\d+(?:\.\d+)?)( %)?", cell))
                and (number.group(2) or name.endswith(("_pct", "%")))
            ]
            if any(value > 100.05 for value in shares):
                has_reason = any(row.get(name) for name in ("over_100_causes", "above 100 %: may be", "message"))
                silent += [] if has_reason else [row]
                explained += has_reason
    return silent, explained


@pytest.mark.parametrize("command", ["mfu", "kernels", "measured"])
def test_each_row_of_a_table_with_a_share_above_100_has_a_reason(run, command):
    silent, explained = silent_rows(run("model", command, TRACE, "--format", "markdown"))
    assert silent == []
    assert explained > 2
    shown = run("model", command, TRACE)
    assert len(re.findall("wrong.hardware", shown)) >= explained


def test_a_row_without_its_reason_is_found():
    """What the scan would miss, no test of an output could show."""
    table = "| unit | MBU | above 100 %: may be |\n| --- | ---: | --- |\n| a | 150.0 %! | {} |\n| b | 99.0 % | |\n"
    assert silent_rows(table.format("wrong hardware")) == ([], 1)
    assert [row["unit"] for row in silent_rows(table.format(""))[0]] == ["a"]
    assert unexplained([{"mbu_pct": 150.0, "over_100_causes": None}, {"change_pct": 300.0}]) == [
        {"mbu_pct": 150.0, "over_100_causes": None}
    ]


def test_csv_has_a_column_of_causes(run):
    head, *rows = run("model", "kernels", TRACE, "--format", "csv").splitlines()
    assert "over_100_causes" in head.split(",")
    assert any("wrong_hardware" in row for row in rows)
