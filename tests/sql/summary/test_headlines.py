"""Headlines: one row per trace, its parts make up the time, and what to do first is what saves most."""

import pytest

from tracelake.reports.summary.document import section
from tracelake.reports.summary.headline import Headline, duration, headline, shortened

from ... import summary_cases as cases
from ...launching import Trace
from ...support import data_files, trace_bytes


@pytest.fixture(scope="module")
def made_up(tmp_path_factory):
    import tracelake

    folder = tmp_path_factory.mktemp("headlines")
    (folder / "empty.json").write_bytes(trace_bytes([
        {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 0, "dur": 5},
    ]))  # fmt: skip
    cases.write_case(folder / "A.json", cases.CASE_A)
    with tracelake.open(folder / "lake") as lake:
        lake.ingest(folder / "empty.json", folder / "A.json")
        yield lake


def test_a_headline_states_parts_and_the_finding_that_saves_most(made_up):
    # 300 µs: 70 idle or waiting, all-reduce and psum expose 40, so 190 compute; fusion.2 takes 105.
    [row] = made_up.rows(
        "SELECT devices, window_us, compute_pct, exposed_communication_pct, exposed_memory_pct, host_bound_pct, "
        "other_idle_pct, finding, gain_us, passes, coverage_pct FROM headlines WHERE trace = 'A'"
    )
    assert row[:2] == (1, 300)
    assert [None if pct is None else round(pct, 3) for pct in row[2:7]] == [63.333, 13.333, 0, None, 23.333]
    assert row[7:] == ("single-hot-op", 105, 0, None)


def test_a_trace_without_device_operations_has_a_headline_too(made_up):
    found = headline(made_up.store, made_up.resolve("empty"))
    assert found.parts == ()
    assert dict(found.lines())["time"] == "no device operation takes time"
    assert dict(found.lines())["step"].startswith("no steps are marked")
    assert dict(found.lines())["first"] == "the trace holds too little to judge"


def test_steps_that_only_the_host_shows_are_said_to_be_on_the_host(lake, tmp_path):
    lake.ingest(Trace().mark("ProfilerStep#1", 0, 90).write(tmp_path / "host.json"))
    found = headline(lake.store, lake.resolve("host"))
    assert dict(found.lines())["step"] == "90.0 µs a step on the host (profiler step; the only one)"
    basis = section(lake.store, lake.resolve("host"), "step_time")["basis"]
    assert basis.startswith("Times in µs, on the host; steady")


@pytest.mark.parametrize("name", data_files("kineto/hf_vit*h100*", "jax/*.gz", "ascend/synthetic/forward_passes.csv"))
def test_parts_make_up_the_time_of_all_devices(real_lake, name):
    lake = real_lake(name)
    [(parts,)] = lake.rows(
        "SELECT compute_pct + exposed_communication_pct + exposed_memory_pct + coalesce(host_bound_pct, 0) "
        "+ other_idle_pct FROM headlines"
    )
    assert parts == pytest.approx(100)


@pytest.mark.parametrize(("lasting", "words"), [
    (100, "100 µs a step (profiler step; median of 4, 9 of 10 within 100 µs)"),
    (160, "160 µs a step, one every 100 µs: they overlap (profiler step; median of 4, 9 of 10 within 160 µs)"),
])  # fmt: skip
def test_steps_that_overlap_are_said_to_come_more_often(lake, tmp_path, lasting, words):
    trace = Trace()
    for step in range(4):
        trace.mark(f"ProfilerStep#{step}", 100 * step, 90)
        trace.run(100 * step + 10, lasting, 100 * step + 5, stream=step % 2)
    lake.ingest(trace.write(tmp_path / "steps.json"))
    assert dict(headline(lake.store, lake.resolve("steps")).lines())["step"] == words


def test_steps_of_two_lengths_in_turn_overlap_only_if_one_begins_before_the_one_before_it_ends(lake, tmp_path):
    # Of five durations the median is 200 µs, of the four periods 160: (110 + 210) / 2.
    trace, at = Trace(), 0
    for step, lasting in enumerate([200, 100, 200, 100, 200]):
        trace.mark(f"ProfilerStep#{step}", at, lasting).run(at + 5, lasting, at + 2)
        at += lasting + 10
    lake.ingest(trace.write(tmp_path / "turns.json"))
    words = "200 µs a step (profiler step; median of 5, 9 of 10 within 200 µs)"
    assert dict(headline(lake.store, lake.resolve("turns")).lines())["step"] == words


def test_a_warning_comes_with_its_share(lake, tmp_path):
    # Of 10 000 µs a stream waits 8000 for work from before the capture.
    trace = Trace().mark("ProfilerStep#1", 0, 9000).run(0, 100, -10, stream=2).run(8100, 1900, 90)
    lake.ingest(trace.write(tmp_path / "held.json"))
    trust = dict(headline(lake.store, lake.resolve("held")).lines())["trust"]
    assert "1 warning: work_not_recorded: 80.0 % of the time of all devices is a wait" in trust


def test_five_lines_open_every_report():
    found = Headline("T", "id", "what", "step", (("compute", 99.96), ("idle", 0.04)), "lead", "todo", "trust", "ok")
    assert found.lines() == [
        ("what", "what"), ("step", "step"), ("time", "compute 100.0 %"), ("first", "todo"), ("trust", "trust")
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("us", "text"),
    [
        (0.5, "0.50 µs"),
        (12.345, "12.3 µs"),
        (999.9, "1000 µs"),
        (84487.2, "84.5 ms"),
        (987288.9, "987 ms"),
        (3.4e6, "3.40 s"),
    ],
)
def test_a_time_has_three_digits(us, text):
    assert duration(us) == text


def test_times_in_evidence_have_three_digits_and_long_names_lose_their_middle():
    text = f"463295.405 µs on device 9, 0.5 µs before k_5 µs; 20 calls; {'n' * 60}"
    assert shortened(text) == f"463 ms on device 9, 0.50 µs before k_5 µs; 20 calls; {'n' * 24}…{'n' * 15}"


@pytest.mark.parametrize(
    ("name", "short"),
    [
        # Nsight Systems and PyTorch write arguments of templates with spaces.
        (f"fwd<Traits<(int)64, (bool)0>, {'(bool)0, ' * 9}at::Tensor &>", "fwd<Traits<(int)64, (boo… at::Tensor &>"),
        ("Memcpy HtoD (Pinned -> Device)", "Memcpy HtoD (Pinned -> Device)"),
        ("operator<", "operator<"),
    ],
)
def test_a_name_with_spaces_in_its_brackets_is_shortened_as_one(name, short):
    assert shortened(f"{name}: 1.5 µs in 2 calls, program {'p' * 50}") == (
        f"{short}: 1.50 µs in 2 calls, program {'p' * 24}…{'p' * 15}"
    )
