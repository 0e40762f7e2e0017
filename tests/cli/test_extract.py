"""Passes cut out of tables of kernels."""

import csv
import hashlib
import io
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from tracelake.cli import cli
from tracelake.engine.errors import UsageError
from tracelake.lake import Lake

from ..ascend_captures import Capture, Model
from ..lakes import in_one_lake
from ..support import DATA, data_file, run_cli

TABLES = (
    "synthetic/forward_passes.csv",
    "synthetic/hcom_pairs.csv",
    "kernel_details_training_910b_arithmetic.csv",
    "kernel_details_excerpt_pipeutilization.csv",
    "kernel_details_level0.csv",
)


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lake]:
    """One lake for all files: a path that is read already is not read again."""
    opened = Lake(tmp_path_factory.mktemp("extract") / "lake")
    opened.ingest(*(path for name in TABLES if (path := DATA / "ascend" / name).is_file()))
    yield opened
    opened.close()


@pytest.mark.parametrize("name", TABLES)
def test_the_whole_window_is_the_file_byte_for_byte(lake: Lake, tmp_path: Path, name: str) -> None:
    path = data_file(f"ascend/{name}")
    about = lake.extract(str(path), tmp_path / "out.csv", window="whole")
    assert (tmp_path / "out.csv").read_bytes() == path.read_bytes()
    assert about["rows_written"] == len(list(csv.reader(path.open(newline="")))) - 1
    assert about["source"]["sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.mark.parametrize(
    ("ending", "last", "bom", "quoted"),
    [("\r\n", True, b"", False), ("\n", False, b"\xef\xbb\xbf", False), ("\r\n", False, b"\xef\xbb\xbf", True)],
    ids=["CRLF", "BOM and no last newline", "all of it and quoted"],
)
@in_one_lake
def test_a_file_s_dialect_is_kept(tmp_path, ending, last, bom, quoted):
    capture = Capture()
    for _ in range(2):
        Model(2).run(capture, 16, 16)
    text = capture.text()
    if quoted:
        out = io.StringIO()
        rows = csv.reader(io.StringIO(text))
        csv.writer(out, quoting=csv.QUOTE_ALL, lineterminator="\n").writerows(rows)
        text = out.getvalue()
    content = bom + (text if last else text[:-1]).replace("\n", ending).encode()
    path = tmp_path / "in.csv"
    path.write_bytes(content)
    own = yield path
    own.lake.extract(own.id, tmp_path / "out.csv", window="whole")
    assert (tmp_path / "out.csv").read_bytes() == content


@pytest.mark.parametrize(("window", "rows", "counted", "first"), [("anchor", 43, 37, 68), ("extended", 62, 53, 63)])
def test_a_pass_is_the_lines_of_its_window(
    lake: Lake, tmp_path: Path, window: str, rows: int, counted: int, first: int
) -> None:
    path = data_file("ascend/synthetic/forward_passes.csv")
    about = lake.extract(str(path), tmp_path / "out.csv", pass_id=1, window=window)
    header, *lines = path.read_text().splitlines()
    assert (tmp_path / "out.csv").read_text().splitlines() == [header, *lines[first - 1 : first - 1 + rows]]
    assert (about["rows"], about["counted_rows"], about["rows_written"]) == (rows, counted, rows)
    assert json.loads((tmp_path / "out.json").read_text()) == about


def test_the_description_says_what_was_cut(lake: Lake, tmp_path: Path) -> None:
    path = data_file("ascend/synthetic/forward_passes.csv")
    about = lake.extract(str(path), tmp_path / "out.csv", pass_id=1, window="anchor", duplicates=False)
    wanted = {
        "window": "anchor", "pass_id": 1, "ordinal": 2, "complete_ordinal": 2, "device": 0, "stage": "decode",
        "tokens": 16, "requests": 16, "complete": True, "num_layers": 4, "start_ns": 1751520000011705000,
        "end_ns": 1751520000012184000, "rows": 43, "counted_rows": 37, "rows_written": 37, "compute_us": 353,
        "communication_us": 90, "raw_communication_us": 180, "duplicates_left_out": True,
        "anchors": [{"type": "FusedInferAttentionScore", "count": 4}],
    }  # fmt: skip
    assert {key: about[key] for key in wanted} == wanted
    [rule] = about["duplicates"]
    assert (rule["rule"], rule["rows"], rule["sum_us"]) == ("aiv_exact", 6, 90)
    # The rows of the file that are vector kernels of collectives, between the first and the last attention.
    lines = list(csv.DictReader(path.open(newline="")))
    assert rule["row_numbers"] == [n for n in range(68, 111) if lines[n - 1]["Name"].endswith("AivKernel")]
    kept = list(csv.DictReader((tmp_path / "out.csv").open(newline="")))
    assert len(kept) == 37
    assert not any(row["Name"].endswith("AivKernel") for row in kept)


def test_what_was_cut_is_a_table_again(lake: Lake, tmp_path: Path) -> None:
    path = data_file("ascend/synthetic/forward_passes.csv")
    lake.extract(str(path), tmp_path / "one.csv", pass_id=2)
    lake.ingest(tmp_path / "one.csv")
    found = lake.rows(
        "SELECT stage, tokens, complete, layer_count FROM passes JOIN traces USING (trace_id) WHERE trace = 'one'"
    )
    assert found == [("decode", 16, True, 4)]
    sums = lake.rows(
        "SELECT compute_us, communication_us, raw_communication_us FROM pass_windows JOIN traces USING (trace_id) "
        "WHERE trace = 'one' AND window_kind = 'whole'"
    )
    assert sums == [(495.0, 130.0, 260.0)]


def test_the_chosen_pass_is_cut_when_none_is_named(tmp_path: Path) -> None:
    path = data_file("ascend/synthetic/forward_passes.csv")
    answer = run_cli("extract", path, "-o", tmp_path / "out.csv", lake=tmp_path / "lake")
    assert answer.returncode == 0, answer.stderr
    assert answer.stdout == ""
    assert "62 rows of pass" in answer.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--pass", "9"], "pass 9: no such pass; it has 0 to 3"),
        (["--pass", "1", "--window", "monotonic"], "has no window monotonic"),
        (["--pass", "1", "--window", "whole"], "omit --pass"),
        (["--pass", "1", "--device", "3"], "none was found"),
    ],
)
def test_what_is_not_there_is_said(lake: Lake, tmp_path: Path, words: list[str], said: str) -> None:
    path = data_file("ascend/synthetic/forward_passes.csv")
    answer = CliRunner().invoke(
        cli, ["--lake", str(lake.path), "extract", str(path), *words, "-o", str(tmp_path / "out.csv")]
    )
    assert isinstance(answer.exception, UsageError)
    assert said in str(answer.exception)
    assert not (tmp_path / "out.csv").exists()


def test_a_chrome_trace_has_no_rows_to_cut(s1_lake: Lake, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="has no table of kernels"):
        s1_lake.extract("s1", tmp_path / "out.csv")


def test_a_table_without_attention_has_no_pass_to_cut(lake: Lake, tmp_path: Path) -> None:
    path = data_file("ascend/kernel_details_training_910b_arithmetic.csv")
    with pytest.raises(UsageError, match="no passes; none was found"):
        lake.extract(str(path), tmp_path / "out.csv")
