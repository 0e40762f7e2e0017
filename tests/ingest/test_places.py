"""Names of files and folders say run, rank, phase and parallelism, and each says where it was taken from."""

import csv
import gzip
import re
from pathlib import Path, PurePath

import pytest

from tracelake.engine.sql.modules import csv_file
from tracelake.ingest.batch import expand
from tracelake.ingest.places import said_by
from tracelake.ingest.siblings import facts_of
from tracelake.synthetic.nsys import nsys_tables, write_nsys_folder
from tracelake.synthetic.ranks import RECORDED_NS, Rank, write_ranks
from tracelake.synthetic.xspace import tpu_space

from ..graph_traces import Host
from ..support import trace_bytes

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
     {"run": "v", "rank": "1", "tp_rank": "1", "dp_rank": "0", "pp_rank": "0", "ep_rank": "1", "tp": "2", "ep": "2",
      "dcp_rank": "0"}),
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
    # Of ranks only where the files say so.
    (("a/profile_1.json", "a/profile_0.json"), {}),
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
    (("m/train_rank-1.json", "m/cpu_rank-34.17.json", "m/train_rank-0.json"), {"run": "m/train", "rank": "1"}),
    (("a/encoder-step3.json", "a/tape2.json", "a/frankfurt1.json"), {}),
    # Degrees of parallelism, as people name a sweep: which rank of them a trace is, they do not say.
    (("a/llama70b_tp4_bs32.json", "a/llama70b_tp8_bs32.json"), {}),
    (("a/qwen3-tp2-ep8.json", "a/tp1.json"), {}),
    (("a/deepseek_tp8_dp2_pp1.json", "a/TP4.json"), {}),
    (("a/llama-tp8-decode.json",), {"phase": "decode"}),
    (("a/llama_tp4_rank3.json",), {"rank": "3"}),
])  # fmt: skip
def test_names_as_tools_write_them(tmp_path, names, said):
    assert values(touch(tmp_path, *names)[0]) == said


def touch_jobs(folder: Path, said: dict[str, tuple[int, int] | None]) -> list[Path]:
    """Make traces that say their rank and the size of their job, as Kineto writes it."""
    paths = touch(folder, *said)
    for path, job in zip(paths, said.values(), strict=True):
        about = {"distributedInfo": {"backend": "nccl", "rank": job[0], "world_size": job[1]}} if job else {}
        content = trace_bytes([{**KERNEL, "name": path.name, "ts": 1}], schemaVersion=1, **about)
        path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return paths


# Names of host and process: the ranks are those that the files say.
FIRST, SECOND = "2026-03-17T01:09:02.341", "2026-03-17T01:10:42.341"
AT, LATER = 1773709742341309550, 1773709842341309550


@pytest.mark.parametrize(("said", "runs"), [
    # tensorboard's handler (Megatron, DeepSpeed, the Trainer, vLLM of old), in each unit that it had.
    ({f"m/a-host_17.{AT}.pt.trace.json": (0, 2), f"m/b_18.{AT + 5}.pt.trace.json.gz": (1, 2)}, ["m", "m"]),
    ({f"m/a_1.{AT // 10**6}.pt.trace.json": (0, 2), f"m/b_1.{AT // 10**6}.pt.trace.json": (1, 2)}, ["m", "m"]),
    # The server's frontend has no rank, and is no rank's part of the run.
    ({f"v/a_1.{AT}.pt.trace.json.gz": (0, 2), f"v/a_2.{AT}.pt.trace.json.gz": (1, 2),
      f"v/a_3.async_llm.{AT}.pt.trace.json.gz": None}, ["v", "v", None]),
    # Two jobs: of different size, or both with a rank 0, at one time.
    ({f"m/a_1.{AT}.pt.trace.json": (0, 2), f"m/b_1.{AT}.pt.trace.json": (1, 8)}, [None, None]),
    ({f"m/a_1.{AT}.pt.trace.json": (0, 1), f"m/b_1.{AT}.pt.trace.json": (0, 1)}, [None, None]),
    # One process in several captures is no run.
    ({f"m/a_1.{AT}.pt.trace.json": (0, 1), f"m/a_1.{LATER}.pt.trace.json": (0, 1)}, [None, None]),
    # Two captures of two ranks.
    ({f"m/a_1.{AT}.pt.trace.json": (0, 2), f"m/b_1.{AT + 5}.pt.trace.json": (1, 2),
      f"m/a_1.{LATER}.pt.trace.json": (0, 2), f"m/b_1.{LATER - 5}.pt.trace.json": (1, 2)},
     [f"m/{FIRST}", f"m/{FIRST}", f"m/{SECOND}", f"m/{SECOND}"]),
    ({f"v/dp0_pp0_tp{rank}_dcp0_ep0_rank{rank}.{at + rank}.pt.trace.json.gz": (rank, 2)
      for at in (AT, LATER) for rank in (0, 1)}, [f"v/{FIRST}", f"v/{FIRST}", f"v/{SECOND}", f"v/{SECOND}"]),
    # Prefixes set captures apart.
    ({f"v/{prefix}dp0_pp0_tp{rank}_dcp0_ep0_rank{rank}.{AT}.pt.trace.json.gz": (rank, 2)
      for prefix in ("", "warm_") for rank in (0, 1)}, ["v", "v", "v/warm", "v/warm"]),
    # Captures that are as far apart as the files of one are: names do not say which are of which.
    ({f"m/a_1.{AT}.pt.trace.json": (0, 2), f"m/b_1.{AT + 5}.pt.trace.json": (1, 2),
      f"m/a_1.{AT + 9}.pt.trace.json": (0, 2), f"m/b_1.{AT + 14}.pt.trace.json": (1, 2)}, [None] * 4),
    ({f"m/a_1.{AT}.pt.trace.json": (0, 2), f"m/b_1.{AT + 5}.pt.trace.json": (1, 2),
      f"m/a_1.{LATER}.pt.trace.json": (0, 2)}, [None] * 3),
    # Accelerate.
    ({"m/profile_0.json": (0, 2), "m/profile_1.json": (1, 2)}, ["m", "m"]),
    # Names that say other ranks than the files: all of one rank are no run.
    ({"m/rank0.json": (0, 1), "m/rank1.json": (0, 1)}, [None, None]),
    ({"m/rank0.json": (1, 2), "m/rank1.json": (0, 2)}, ["m", "m"]),
    ({"m/rank0.json": (0, 2), "m/rank1.json": (1, 4)}, [None, None]),
    # A folder per rank.
    ({"m/rank_0/trace.json": None, "m/rank_1/trace.json": None}, ["m", "m"]),
    ({"a/traces/rank0/k.json": (0, 2), "a/traces/rank1/k.json": (1, 2), "a/traces/rank1/other.json": (1, 2)},
     ["a/traces/rankN/k", "a/traces/rankN/k", None]),
    ({f"m/rank_{rank}/h_{rank}.{at}.pt.trace.json": (rank, 2) for at in (AT, LATER) for rank in (0, 1)},
     [f"m/{FIRST}", f"m/{FIRST}", f"m/{SECOND}", f"m/{SECOND}"]),
    ({"m/rank_0/trace.json": (0, 2)}, [None]),
    ({"lora_rank8/trace.json": None, "lora_rank16/trace.json": None}, [None, None]),
])  # fmt: skip
def test_the_files_ranks_and_times_say_which_are_of_one_run(tmp_path, said, runs):
    paths = touch_jobs(tmp_path, said)
    assert [values(path).get("run") for path in paths] == runs
    for path, run in zip(reversed(paths), reversed(runs), strict=True):
        assert values(path).get("run") == run


def test_replicas_that_count_their_ranks_from_0_get_those_of_the_run(tmp_path, run_cli):
    names = [f"v/dp{dp}_pp0_tp{tp}_dcp0_ep0_rank{tp}.{AT}.pt.trace.json" for dp in (0, 1) for tp in (0, 1)]
    alone = touch_jobs(tmp_path / "each in a world of its own", dict.fromkeys(names, (0, 2)) | {
        name: (int("rank1" in name), 2) for name in names
    })  # fmt: skip
    assert [values(path)["rank"] for path in alone] == ["0", "1", "2", "3"]
    # All in one world: the files know better than their names.
    together = touch_jobs(tmp_path / "in one world", {name: (rank, 4) for rank, name in enumerate(names)})
    assert [values(path)["rank"] for path in together] == ["0", "1", "0", "1"]
    for folder in (alone, together):
        lake = tmp_path / f"lake of {folder[0].parent.parent.name}"
        said = run_cli("ingest", folder[0].parent, "--events-only", lake=lake)
        asked = run_cli("sql", "SELECT run, rank, rank_source, dp, tp FROM traces ORDER BY rank", "--format", "csv",
                        lake=lake)  # fmt: skip
        source = "files of the run" if folder is alone else "distributedInfo"
        assert asked.stdout.splitlines()[1:] == [f"v,{rank},{source},2,2" for rank in range(4)]
        assert ("rank 2 (distributedInfo; file name: 0)" in said.stderr) == (folder is together)


def test_where_the_file_and_its_name_say_different_things_both_are_said(tmp_path, run_cli):
    touch_jobs(tmp_path, {"m/rank0.json": (1, 2), "m/rank1.json": (0, 2), "a/tp3_rank4.json": (4, 8)})
    ended = run_cli("ingest", tmp_path / "m", tmp_path / "a", "--events-only", lake=tmp_path / "lake")
    said = [line.rpartition("events; ")[2] for line in ended.stderr.splitlines() if "rank0.json" in line]
    assert said == ["rank 1 (distributedInfo; file name: 0), run m (folder name)"]
    # What both say is said once.
    assert "rank 4" not in ended.stderr
    facts = (
        "SELECT value, is_used FROM place_facts JOIN traces USING (trace_id) WHERE concat(trace, fact) = 'rank0rank'"
    )
    asked = run_cli("sql", facts, "--format", "csv", lake=tmp_path / "lake")
    assert asked.stdout.splitlines()[1:] == ["0,False"]


def test_a_place_that_the_job_does_not_have_is_not_taken(tmp_path, run_cli):
    # Rank 0 of 2 is no tensor-parallel rank 4; among experts, which replicas share, it may be.
    touch_jobs(tmp_path, {"a/x-TP-4-EP-5-DECODE.json": (0, 2), "b/x-TP-1-EP-5-DECODE.json": (1, 2)})
    ended = run_cli("ingest", tmp_path, "--events-only", lake=tmp_path / "lake")
    asked = run_cli("sql", "SELECT rank, tp_rank, ep_rank FROM traces ORDER BY rank", "--format", "csv",
                    lake=tmp_path / "lake")  # fmt: skip
    assert asked.stdout.splitlines()[1:] == ["0,,5", "1,1,5"]
    assert "tp rank 4" not in ended.stderr


def test_the_folders_of_ascend_s_ranks_are_a_run(tmp_path):
    worker, _ = touch(tmp_path, *(f"nightly/dp0_pp0_tp{tp}_dcp0_ep0_rank{tp}_2026_ascend_pt/x" for tp in (1, 0)))
    assert values(worker.parent) == {
        "run": "nightly", "rank": "1", "dp_rank": "0", "pp_rank": "0", "tp_rank": "1", "ep_rank": "0", "tp": "2",
        "dcp_rank": "0",
    }  # fmt: skip
    # Without ranks in their names; the profiler notes each beside its output.
    folders = [
        touch(tmp_path, f"old/{name}_ascend_pt/profiler_info_{rank}.json")[0].parent
        for rank, name in enumerate(("node_4711_20260617064811905", "other-node_4712_20260617064811917"))
    ]
    assert [values(folder) for folder in folders] == [{"run": "old"}] * 2
    ranks = [
        touch(tmp_path, f"ms/rank_{rank}/n_{rank}_20260617064811905_ascend_ms/profiler_info_{rank}.json")[0].parent
        for rank in (0, 1)
    ]
    assert [values(folder) for folder in ranks] == [{"run": "ms", "rank": "0"}, {"run": "ms", "rank": "1"}]


@pytest.mark.parametrize("ending", [".sqlite", ".db", ".csv", "_pqtdir", ".arrowdir"])
def test_databases_and_tables_of_several_ranks_are_a_run_beside_traces_of_another_kind(tmp_path, ending):
    paths = touch(tmp_path, f"n/report_rank1{ending}", f"n/report_rank0{ending}", "n/report_rank0.json")
    assert [values(path) for path in paths] == [{"run": "n", "rank": "1"}, {"run": "n", "rank": "0"}, {"rank": "0"}]


def test_the_folders_that_nsys_exports_of_several_ranks_are_a_run(tmp_path, run_cli):
    for rank, form in ((0, "parquetdir"), (1, "parquetdir")):
        tables = nsys_tables()
        columns, rows = tables["CUPTI_ACTIVITY_KIND_KERNEL"]
        tables["CUPTI_ACTIVITY_KIND_KERNEL"] = (columns, rows[rank:])
        (tmp_path / "n").mkdir(exist_ok=True)
        write_nsys_folder(tmp_path / "n" / f"job_rank{rank}_pqtdir", form, tables)
    ended = run_cli("ingest", tmp_path / "n", "--events-only", lake=tmp_path / "lake")
    assert ended.stderr.splitlines()[-1].endswith("2 files: 2 new, 0 known already, 0 failed.")
    asked = run_cli("sql", "SELECT run, rank, rank_source FROM traces ORDER BY rank", "--format", "csv",
                    lake=tmp_path / "lake")  # fmt: skip
    assert asked.stdout.splitlines()[1:] == ["n,0,file name", "n,1,file name"]


def test_a_folder_of_captures_becomes_runs_that_say_where_all_was_taken_from(tmp_path, run_cli):
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


def test_the_folder_of_a_server_s_profiler_is_understood_in_any_order_and_a_second_ingest_changes_nothing(
    tmp_path, run_cli
):
    folder = tmp_path / "vllm_profile"
    names = ("gemm_a", "gemm_b", "gemm_c", "gemm_d", "gemm_e")
    files = []
    for rank in (0, 1):
        at = f"rank{rank}.{AT + rank}.pt.trace.json"
        files += touch(folder, f"dp0_pp0_tp{rank}_dcp0_ep0_{at}", f"capture_traces/graph_capture_{at}")
        Host().replay(*names[rank:]).write(files[-2])
        Host().capture(*names[rank:], dims=[[8, 16 + rank]]).write(files[-1])
    frontend, notes = touch(folder, f"node_17.async_llm.{AT}.pt.trace.json", "capture_traces/execution_details.json")
    frontend.write_bytes(trace_bytes([{**KERNEL, "cat": "cpu_op", "ts": 1}]))
    notes.write_text('[{"batch_size": 1}]')
    queries = (
        "SELECT trace_id, trace, run, rank, phase, tp, tp_rank FROM traces ORDER BY trace",
        "SELECT rank, input_dims, count(*) FROM captured_kernels JOIN traces USING (trace_id) GROUP BY ALL ORDER BY 1",
    )
    asked = []
    for lake, given in (("folder", [folder]), ("files", [*reversed(files), frontend])):
        for known in (0, 5):
            ended = run_cli("ingest", *given, lake=tmp_path / lake)
            assert ended.stderr.splitlines()[-1].endswith(f"5 files: {5 - known} new, {known} known already, 0 failed.")
            asked.append([run_cli("sql", one, "--format", "csv", lake=tmp_path / lake).stdout for one in queries])
    assert asked == [asked[0]] * 4
    run = f"{tmp_path.name}/vllm_profile"
    assert [line.split(",", 2)[2] for line in asked[0][0].splitlines()[1:]] == [
        f"{run},0,,2,0", f"{run},1,,2,1", ",0,capture,,", ",1,capture,,", ",,,,",
    ]  # fmt: skip
    assert asked[0][1].splitlines()[1:] == ['0,"[[8,16]]",5', '1,"[[8,17]]",4']


def test_what_lies_beside_traces_is_left_out_of_a_folder_and_traces_of_such_names_are_not(tmp_path):
    beside = (
        "server_args.json", "trainer_state.json", "ds_config.json", "hf/tokenizer_config.json",
        "hf/model.safetensors.index.json", "capture_traces/execution_details.json", "a/profiler_info_3.json",
        "cluster_analysis_output/cluster_communication_matrix.json", "plugins/profile/x/h.memory_profile.json.gz",
    )  # fmt: skip
    for path in touch(tmp_path / "log", *beside):
        path.write_text("{}")
    traces = touch(tmp_path / "log", "new_config_rank0.json", "cluster_a.json", "tokenizer_on_gpu.json")
    assert expand([tmp_path / "log"]) == sorted(map(str, traces))


def test_runs_by_names_of_folders_are_answered_for_like_any_other(tmp_path, run_cli):
    folder = tmp_path / "exp" / "tensorboard"
    folder.mkdir(parents=True)
    for nth, at in enumerate((RECORDED_NS, RECORDED_NS + 600 * 10**9)):
        ranks = [Rank(), Rank(slowness=1.3), Rank()]
        for rank, path in enumerate(write_ranks(folder, ranks, steps=3, seed=nth, start_ns=at)):
            path.rename(folder / f"node-{'abc'[rank]}_{4000 + rank}.{at + rank}.pt.trace.json.gz")
    lake = tmp_path / "lake"
    assert run_cli("ingest", tmp_path / "exp", lake=lake).returncode == 0
    runs = [f"exp/tensorboard/2026-11-01T02:{minute}:00.000" for minute in ("00", "10")]
    shown = run_cli("ranks", runs[0], "--format", "csv", lake=lake)
    assert [line.split(",")[:2] for line in shown.stdout.splitlines()[1:]] == [
        [runs[0], str(rank)] for rank in range(3)
    ]
    # Of the slow one the figures of the generator: it computes 1.3 times as long.
    assert "rank 1: slow compute. The others wait longest for it in 3 of 3 steps" in shown.stderr
    compared = run_cli("compare", *runs, lake=lake)
    assert compared.returncode == 0
    assert f"{runs[1]} beside {runs[0]}" in compared.stderr
    missing = run_cli("compare", "exp/other", runs[0], lake=lake)
    assert (missing.returncode, missing.stderr) == (3, "tracelake: exp/other: no such file.\n")


def test_a_setting_is_said_in_place_of_what_a_name_says(tmp_path, run_cli):
    folder = tmp_path / "nightly" / "r"
    folder.mkdir(parents=True)
    paths = write_ranks(folder, [Rank(), Rank()], steps=2)
    lake = tmp_path / "lake"
    shown = run_cli("ingest", *paths, "--run", "even", lake=lake).stderr
    assert shown.count("; run even (user; folder name: r)") == 2
    assert run_cli("sql", "SELECT DISTINCT run FROM traces", "--format", "csv", lake=lake).stdout == "run\neven\n"


def test_a_known_file_that_is_given_another_run_is_said_to_leave_the_first(tmp_path, run_cli):
    first, second = tmp_path / "slow" / "rank0.json", tmp_path / "skew" / "rank0.json"
    first.parent.mkdir()
    [written] = write_ranks(first.parent, [Rank()], steps=2)
    written.rename(first)
    second.parent.mkdir()
    second.write_bytes(first.read_bytes())
    lake = tmp_path / "lake"
    run_cli("ingest", first, "--run", "slow", "--tp", "2", lake=lake)
    for said in ("; run skew, was slow", ""):
        [line] = run_cli("ingest", second, "--set", "run=skew", "--tp", "2", lake=lake).stderr.splitlines()
        assert line.endswith(f"): in the lake already{said}")
    [line] = run_cli("ingest", first, "--set", "run=", lake=lake).stderr.splitlines()
    assert line.endswith("): in the lake already; run removed, was skew")


def test_a_known_file_of_another_name_is_called_by_the_name_of_the_trace(tmp_path, run_cli):
    lake = tmp_path / "lake"
    for name in ("first", "second"):
        (tmp_path / f"{name}.json").write_bytes(trace_bytes([{"ph": "X", "name": "f", "pid": 1, "ts": 0, "dur": 1}]))
        [line] = run_cli("ingest", tmp_path / f"{name}.json", lake=lake).stderr.splitlines()
    assert f"{name}.json: first (" in line
    for asked, called in (("--name=other", "other"), ("--jobs=1", "other"), ("--set=trace=third", "third")):
        [line] = run_cli("ingest", tmp_path / "second.json", asked, lake=lake).stderr.splitlines()
        assert f"second.json: {called} (" in line


def test_a_trace_that_came_before_the_others_of_its_run_is_said_to_be_of_it_and_can_be_set(tmp_path, run_cli):
    first, second = touch_jobs(tmp_path, {"m/rank0.json": (0, 2), "b/rank1.json": (1, 2)})
    lake = tmp_path / "lake"
    run_cli("ingest", first, lake=lake)
    second.rename(first.with_name("rank1.json"))
    for said in ("; files beside it say by now that it is of a run: set rank0 run=m", ""):
        again = run_cli("ingest", first.parent, lake=lake).stderr.splitlines()
        assert again[0].endswith(f"): in the lake already{said}")
        run_cli("set", "rank0", "run=m", lake=lake)
    asked = run_cli("sql", "SELECT run, rank FROM traces ORDER BY rank", "--format", "csv", lake=lake)
    assert asked.stdout.splitlines()[1:] == ["m,0", "m,1"]
