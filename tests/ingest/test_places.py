"""Names of files and folders say run, rank, phase and parallelism, and each says where it was taken from."""

import csv
import re
from pathlib import Path, PurePath

import pytest

from tracelake.engine.modules import csv_file
from tracelake.ingest.places import facts_of, said_by
from tracelake.synthetic.xspace import tpu_space

from ..support import run_cli, trace_bytes

RULES = list(csv.DictReader(csv_file("place_rules").open(encoding="utf-8", newline="")))
KERNEL = {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "dur": 2}


def touch(folder: Path, *names: str) -> list[Path]:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()
    return [folder / name for name in names]


def values(path: Path) -> dict[str, str]:
    return {key: one.value for key, one in facts_of(path).items()}


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule["priority"])
def test_every_rule_finds_its_fact_in_the_example_of_its_comment(rule):
    example = rule["comment"].partition("; e.g. ")[2]
    texts = {"file": PurePath(example).name, "folder": PurePath(example).parent.name, "path": f"data/{example}"}
    match = re.compile(rule["pattern"], re.IGNORECASE).search(texts[rule["part"]])
    assert match
    assert said_by(PurePath("/data") / example)[rule["fact"]].text == match[0]


# Names as the tools write them, and what must be taken from them; files of one tuple lie together.
@pytest.mark.parametrize(("names", "said"), [
    (("s/1787.5-TP-0-DECODE.trace.json.gz", "s/1787.5-TP-1-DECODE.trace.json.gz", "s/merged-1787.5.trace.json.gz"),
     {"run": "1787.5-DECODE", "tp_rank": "0", "phase": "decode", "tp": "2"}),
    (("s/warm-17.5-TP-1-DP-0-PP-3-EP-4-EXTEND.trace.json.gz",),
     {"run": "warm-17.5-EXTEND", "tp_rank": "1", "dp_rank": "0", "pp_rank": "3", "ep_rank": "4", "phase": "prefill"}),
    (("v/dp0_pp0_tp1_dcp0_ep1_rank1.1773709742341309550.pt.trace.json.gz",
      "v/dp0_pp0_tp0_dcp0_ep0_rank0.1773709742341309551.pt.trace.json.gz"),
     {"run": "v", "rank": "1", "tp_rank": "1", "dp_rank": "0", "pp_rank": "0", "ep_rank": "1", "tp": "2", "ep": "2"}),
    # The same rank twice: two captures, and names do not distinguish which files are of which.
    (("v/rank0.111.pt.trace.json.gz", "v/rank0.222.pt.trace.json.gz", "v/rank1.111.pt.trace.json.gz"), {"rank": "0"}),
    (("c/graph_capture_rank_0.1.pt.trace.json.gz", "c/graph_capture_rank_1.1.pt.trace.json.gz"),
     {"rank": "0", "phase": "capture"}),
    (("out/profile_trace/iteration_10/rank1_trace.json", "out/profile_trace/iteration_10/rank0_trace.json"),
     {"run": "out/iteration_10", "rank": "1"}),
    # The names of these folders are everybody's: two experiments must not become one run.
    (("a/torch_profile/rank-3.json.gz", "a/torch_profile/rank-4.json.gz"), {"run": "a/torch_profile", "rank": "3"}),
    (("a/outputs/profiling/traces/iteration_10/rank1_trace.json.gz",
      "a/outputs/profiling/traces/iteration_10/rank0_trace.json.gz"),
     {"run": "a/outputs/iteration_10", "rank": "1"}),
    (("a/outputs/profile_traces/iteration_10/replica_1/rank0_trace.json",),
     {"run": "a/outputs/iteration_10/replica_1", "rank": "0"}),
    (("tb/runs/worker1.1773709742341309550.pt.trace.json", "tb/runs/worker0.1773709742341309551.pt.trace.json"),
     {"run": "tb/runs", "rank": "1"}),
    (("a/profile_1.json", "a/profile_0.json"), {"run": "a", "rank": "1"}),
    (("s/capture_traces/bs_32_rank1.json.gz", "s/capture_traces/bs_1_rank1.json.gz"),
     {"rank": "1", "phase": "capture"}),
    (("s/graph_captures/rank0.json.gz", "s/graph_captures/rank1.json.gz"), {"rank": "0", "phase": "capture"}),
    (("s/17.5-TP-1-CP-2-prefill.trace.json.gz",),
     {"run": "17.5-prefill", "tp_rank": "1", "phase": "prefill"}),
    (("one/rank3.json.gz",), {"rank": "3"}),
    (("log/plugins/profile/2026_01_02_03_04_05/host-10.xplane.pb",
      "log/plugins/profile/2026_01_02_03_04_05/host-9.xplane.pb",
      "log/plugins/profile/2026_01_02_03_04_05/host-9.trace.json.gz",
      "log/plugins/profile/2026_01_02_03_04_05/perfetto_trace.json.gz"),
     {"run": "2026_01_02_03_04_05", "rank": "1"}),
    (("log/plugins/profile/now/host.xplane.pb",), {"run": "now"}),
    (("m/host_123.1612345678901.pt.trace.json", "m/host_124.1612345678901.pt.trace.json"), {}),
    # Of two jobs in a folder, by their names.
    (("m/cpu_rank-34.17.json", "m/train_rank-0.json", "m/train_rank-1.json"), {"rank": "34"}),
    (("m/train_rank-1.json", "m/cpu_rank-34.17.json", "m/train_rank-0.json"), {"run": "m/train_rank-N", "rank": "1"}),
    (("a/encoder-step3.json", "a/tape2.json", "a/frankfurt1.json"), {}),
])  # fmt: skip
def test_names_as_tools_write_them(tmp_path, names, said):
    assert values(touch(tmp_path, *names)[0]) == said


def test_the_folders_of_ascend_s_ranks_are_a_run(tmp_path):
    worker, _ = touch(tmp_path, *(f"nightly/dp0_pp0_tp{tp}_dcp0_ep0_rank{tp}_2026_ascend_pt/x" for tp in (1, 0)))
    assert values(worker.parent) == {
        "run": "nightly", "rank": "1", "dp_rank": "0", "pp_rank": "0", "tp_rank": "1", "ep_rank": "0", "tp": "2",
    }  # fmt: skip


def test_a_folder_of_captures_becomes_runs_that_say_where_all_was_taken_from(tmp_path):
    folder = tmp_path / "runs"
    profile = folder / "plugins" / "profile" / "2026_01_02_03_04_05"
    touch(profile, "a-0.trace.json.gz", "perfetto_trace.json.gz")
    for nth in range(2):
        (profile / f"a-{nth}.xplane.pb").write_bytes(tpu_space(f"host {nth}", nth))
        about = {"rank": 5, "world_size": 8} if nth else {}
        content = trace_bytes([{**KERNEL, "ts": nth}], distributedInfo=about)
        (folder / f"1787000000.5-TP-{nth}-DECODE.trace.json").write_bytes(content)
    (folder / "merged-1787000000.5.trace.json").write_bytes(trace_bytes([{**KERNEL, "ts": 9}]))
    ended = run_cli("ingest", folder, lake=tmp_path / "lake")
    assert ended.returncode == 0
    lines = ended.stderr.replace(f"{folder}/", "").replace(f"{profile.relative_to(folder)}/", "").splitlines()
    assert lines[:3] == [
        "tracelake: merged-1787000000.5.trace.json: left out: it repeats the traces of the ranks beside it.",
        "tracelake: a-0.trace.json.gz: left out: a-0.xplane.pb is the same capture, and says more.",
        "tracelake: perfetto_trace.json.gz: left out: a-0.xplane.pb is the same capture, and says more.",
    ]
    assert sum("run 2026_01_02_03_04_05 (folder name), rank 1 (files of the run)" in line for line in lines) == 1
    assert lines[-1].endswith("4 files: 4 new, 0 known already, 0 failed.")
    columns = "run, run_source, rank, rank_source, phase, tp, CAST(recorded_at AS VARCHAR), recorded_at_source"
    asked = run_cli(
        "sql", f"SELECT {columns} FROM traces ORDER BY run, rank", "--format", "csv", lake=tmp_path / "lake"
    )
    assert asked.stdout.splitlines()[1:] == [
        # The file's own rank is not that of its name.
        "1787000000.5-DECODE,file name,0,file name,decode,2,2026-08-17 20:53:20,name",
        "1787000000.5-DECODE,file name,5,distributedInfo,decode,2,2026-08-17 20:53:20,name",
        "2026_01_02_03_04_05,folder name,0,files of the run,,,2026-01-02 03:04:05,clock",
        "2026_01_02_03_04_05,folder name,1,files of the run,,,2026-01-02 03:04:05,clock",
    ]
    run_cli("set", "a-1", "run=mine", lake=tmp_path / "lake")
    asked = run_cli(
        "sql", "SELECT run, run_source, fact, value, is_used FROM place_facts JOIN traces USING (trace_id) "
        "WHERE trace = 'a-1' ORDER BY fact", "--format", "csv", lake=tmp_path / "lake",
    )  # fmt: skip
    assert asked.stdout.splitlines()[1:] == [
        "mine,user,rank,1,True", "mine,user,run,2026_01_02_03_04_05,False",
    ]  # fmt: skip
