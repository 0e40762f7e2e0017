"""What an operation of XLA counts as: by the category that XLA gives it."""

import json

import pytest

from tracelake.lake import Lake

from ...lakes import in_one_lake
from ...summary_cases import write_case

# The categories that XLA's profiler names itself (xla_op_utils.h), but for what holds other instructions.
XLA_WORDS = [
    *"infeed outfeed all-reduce all-to-all send send-done recv recv-done convolution all-gather after-all".split(),
    *"all-gather-start all-gather-done all-reduce-start all-reduce-done async-start async-update async-done".split(),
    "reshape",
    *"copy copy-start copy-done collective-permute collective-permute-start collective-permute-done transpose".split(),
    "host send", "host send-done", "host recv", "host recv-done", "convolution base-dilated",
    "convolution window-dilated", "output fusion", "convolution fusion", "custom fusion", "all-reduce fusion",
    "all-gather fusion", "all-reduce-scatter fusion", "gather fusion", "scatter fusion", "megacore fusion",
    "sparsecorev0 infeed", "sparsecorev0 outfeed", "sparsecorev0 infeed wait", "sparsecorev0 infeed transform",
    "loop fusion", "input fusion", "data formatting", "non-fusion elementwise",
]  # fmt: skip


def test_every_category_of_xla_has_one_of_ours(lake: Lake) -> None:
    known = {word for (word,) in lake.sql("SELECT hlo_category FROM hlo_categories").fetchall()}
    # A token that orders others takes no time.
    assert set(XLA_WORDS) - known == {"after-all"}
    assert (
        lake.sql(
            """
        SELECT hlo_category FROM hlo_categories AS h
        WHERE category IS NOT NULL
            AND NOT EXISTS (FROM category_rules AS r WHERE r.category = h.category AND r.kind = h.kind)
        """
        ).fetchall()
        == []
    )


@in_one_lake
def test_an_operation_of_xla_is_what_its_hlo_category_says_and_not_what_it_is_called(tmp_path):
    operations = [
        ("convolution_add_fusion.1", "loop fusion", "fused", "compute", "hlo"),
        ("all-reduce_fusion.2", "non-fusion elementwise", "elementwise", "compute", "hlo"),
        ("fusion.3", "all-reduce fusion", "communication", "communication", "hlo"),
        ("fusion.4", "convolution fusion", "gemm", "compute", "hlo"),
        ("infeed.5", "infeed", "memcpy", "memory", "hlo"),
        ("gather.6", "convolution window-dilated", "conv", "compute", "hlo"),
        # These words leave it to the name.
        ("RPA-bq_32-bkvp_64-p_64-.7", "custom-call", "attention", "compute", "name"),
        ("convolution_add_fusion.8", "output fusion", "gemm", "compute", "name"),
        ("while.9", "while", "other", "compute", None),
    ]
    text = "; ".join(
        f'{name} {10 * nth}+5 {{"hlo_category": "{word}"}}' for nth, (name, word, *_) in enumerate(operations)
    )
    lake = yield write_case(tmp_path / "case.json", [(1, "/device:TPU:0", {"XLA Ops": text})])
    expected = [(name, *rest) for name, _, *rest in operations]
    query = "SELECT name, category, kind, category_source FROM kernels ORDER BY start_ns"
    assert lake.sql(query).fetchall() == expected
    ops = dict(lake.sql("SELECT name, category FROM ops").fetchall())
    assert ops == {name: category for name, category, *_ in expected}


@in_one_lake
def test_a_collective_that_xla_wraps_in_a_generic_operation_is_the_collective_of_its_name(tmp_path):
    # XLA has no opcode for a split all-to-all or reduce-scatter: both are async-start and async-done, like a slice.
    halves = {
        "all-to-all-start.1": "0+1", "all-to-all-done.1": "21+30", "reduce-scatter-start.2": "51+1",
        "reduce-scatter-done.2": "62+8", "async-collective-start.3": "70+1", "async-collective-done.3": "71+2",
        "slice-start.4": "73+1", "slice-done.4": "74+4",
    }  # fmt: skip
    words = {name: f'{{"hlo_category": "async-{"start" if "start" in name else "done"}"}}' for name in halves}
    operations = "; ".join(f"{name} {times} {words[name]}" for name, times in halves.items())
    flight = 'reduce-scatter-start.2 51+19 {"hlo_category": "async-start"}'
    lake = yield write_case(
        tmp_path / "case.json",
        [(1, "/device:TPU:0", {"XLA Ops": f"{operations}; fusion.5 1+20; fusion.6 52+10", "Async XLA Ops": flight})],
    )
    # Exposed: 1 + 30 + 1 + 8 + 1 + 2; in flight under fusion.6: 10. Copies: 1 + 4.
    assert lake.rows(
        "SELECT compute_us, hidden_communication_us, exposed_communication_us, exposed_memory_us FROM time_breakdown"
    ) == [(30, 10, 43, 5)]
    # From the start of the first half to the end of the last.
    assert lake.rows("SELECT kind, dur_us FROM collectives ORDER BY start_ns") == [
        ("all-to-all", 51), ("reduce-scatter", 19), ("async-collective", 3)
    ]  # fmt: skip
    kinds = "SELECT kind, category, count(*) FROM kernels GROUP BY ALL ORDER BY ALL"
    assert lake.rows(kinds) == [
        ("communication", "communication", 6), ("compute", "fused", 2), ("memory", "memcpy", 2)
    ]  # fmt: skip
    assert lake.rows("SELECT class, category, count(*) FROM ops GROUP BY ALL ORDER BY ALL") == [
        ("communication", "communication", 7), ("compute", "fused", 2), ("dma", "memcpy", 2)
    ]  # fmt: skip


@in_one_lake
def test_a_custom_fusion_is_communication_only_if_it_begins_or_ends_a_fused_collective(tmp_path):
    # The fusion between the two computes while the collective runs; other names are those of what is fused.
    operations = "async-collective-start.7 0+2; async-collective-fusion.7 2+50; async-collective-done.7 52+30; "
    operations += "all-gather_bitcast_fusion 82+10"
    text = "; ".join(f'{operation} {{"hlo_category": "custom fusion"}}' for operation in operations.split("; "))
    lake = yield write_case(tmp_path / "case.json", [(1, "/device:TPU:0", {"XLA Ops": text})])
    assert lake.rows("SELECT compute_us, exposed_communication_us FROM time_breakdown") == [(50 + 10, 2 + 30)]
    assert lake.rows("SELECT kind, dur_us FROM collectives") == [("async-collective", 82)]
    assert lake.rows("SELECT name FROM ops WHERE class = 'communication' ORDER BY name") == [
        ("async-collective-done.7",), ("async-collective-start.7",),
    ]  # fmt: skip


@in_one_lake
def test_a_kernel_of_pallas_is_a_collective_by_its_name_unless_it_also_multiplies(tmp_path):
    operations = "hierarchical_reduce_scatter.1 0+20; allgather-matmul-kernel.2 20+50; custom-call.3 70+10"
    text = "; ".join(f'{operation} {{"hlo_category": "custom-call"}}' for operation in operations.split("; "))
    lake = yield write_case(tmp_path / "case.json", [(1, "/device:TPU:0", {"XLA Ops": text})])
    assert lake.rows("SELECT name, class, category FROM ops ORDER BY sum_us") == [
        ("custom-call.3", "compute", "other"),
        ("hierarchical_reduce_scatter.1", "communication", "communication"),
        ("allgather-matmul-kernel.2", "compute", "mc2"),
    ]
    assert lake.rows("SELECT kind, count(*) FROM kernels GROUP BY kind ORDER BY kind") == [
        ("communication", 1), ("compute", 2)
    ]  # fmt: skip
    assert lake.rows("SELECT compute_us, exposed_communication_us FROM time_breakdown") == [(60, 20)]
    assert lake.rows("SELECT kind, dur_us FROM collectives") == [("reduce-scatter", 20)]


@in_one_lake
def test_operations_and_kernels_agree_on_which_kernels_of_pallas_communicate(tmp_path):
    categories = {
        "send_recv_kernel.1": "communication", "ragged_all_to_all.2": "communication", "all-gather-kernel.3":
        "communication", "collective-matmul-kernel.4": "mc2", "all-gather-gmm-kernel.5": "mc2", "gmm_reduce_scatter.6":
        "mc2", "all_gather_ragged_dot.7": "mc2",
    }  # fmt: skip
    text = "; ".join(f'{name} {20 * nth}+10 {{"hlo_category": "custom-call"}}' for nth, name in enumerate(categories))
    lake = yield write_case(tmp_path / "case.json", [(1, "/device:TPU:0", {"XLA Ops": text})])
    kinds = {"communication": "communication", "mc2": "compute"}
    expected = sorted((name, category, kinds[category]) for name, category in categories.items())
    assert lake.rows("SELECT name, category, kind FROM kernels ORDER BY name") == expected
    assert lake.rows("SELECT name, category, class FROM ops ORDER BY name") == expected


@in_one_lake
def test_without_a_category_of_xla_an_operation_has_that_of_its_kernel(tmp_path):
    kernels = (
        "Cijk_Ailk_Bljk_BBS_BH_MT128x128x32 0+50; void MIOpenIm3d2Col 50+20; loop_add_fusion 70+9; void mystery 79+1"
    )
    lake = yield write_case(tmp_path / "case.json", [(1, "/device:GPU:0", {"Stream #1(Compute)": kernels})])
    assert lake.rows("SELECT name, category, family, sum_us FROM ops ORDER BY sum_us DESC") == [
        ("Cijk_Ailk_Bljk_BBS_BH_MT128x128x32", "gemm", "matmul", 50),
        ("void MIOpenIm3d2Col", "conv", "conv", 20),
        ("loop_add_fusion", "fused", "fusion", 9),
        ("void mystery", "other", "other", 1),
    ]


@in_one_lake
def test_a_loop_has_no_category_and_what_it_runs_does(tmp_path):
    # Of 110 in the loop and behind it 80 are a fusion and 30 a call of which nothing is known.
    operations = "while.1 0+100; custom-call.2 0+30; fusion.3 30+70; fusion.3 100+10"
    lake = yield write_case(tmp_path / "case.json", [(1, "/device:TPU:0", {"XLA Ops": operations})])
    assert lake.rows("SELECT value FROM trace_checks WHERE \"check\" = 'other_category'") == [
        (pytest.approx(100 * 30 / 110),)
    ]


@in_one_lake
def test_a_loop_alone_without_a_category_is_no_time_of_unknown_category(tmp_path):
    # The loop is drawn over 100 of 110; the innermost operations all have a category.
    operations = 'while.1 0+100; fusion.2 0+100 {"hlo_category": "loop fusion"}; fusion.3 100+10'
    lake = yield write_case(tmp_path / "case.json", [(1, "/device:TPU:0", {"XLA Ops": operations})])
    assert lake.rows("SELECT value FROM trace_checks WHERE \"check\" = 'other_category'") == [(0,)]


@pytest.mark.parametrize(("handler", "kind"), [("xla_megascale_runtime", "communication"), ("io_callback", "memory")])
@in_one_lake
def test_what_the_host_sends_between_slices_is_communication(tmp_path, handler, kind):
    # A pair of 232 us. The ends do not name the handler.
    shape = "(bf16[7680,8,128]{2,1,0}, u32[], token[])"
    said = f'channel_id=9, is_host_transfer=true, frontend_attributes={{_xla_host_transfer_handler_name="{handler}"'
    if kind == "communication":
        said += ',_xla_megascale_transfer_type="ALL_REDUCE"'
    ops = [
        ("send.5", 1, "host send", shape, f"send(%fusion.1, %after-all), {said}}}"),
        ("recv.5", 1, "host recv", shape, f"recv(%after-all), {said}}}"),
        ("fusion.1", 50, "convolution fusion", "bf16[8,8]", "fusion(%a)"),
        ("send-done.5", 30, "host send-done", "token[]", "send-done(%send.5), channel_id=9"),
        ("recv-done.5", 200, "host recv-done", "(bf16[7680,8,128]{2,1,0}, token[])", "recv-done(%recv.5)"),
    ]
    made, at = [], 0
    for name, us, category, result, call in ops:
        about = {"hlo_category": category, "long_name": f"%{name} = {result} {call}", "shape_with_layout": result}
        made.append(f"{name} {at}+{us} {json.dumps(about)}")
        at += us
    lines = {"XLA Modules": f"jit_step(7) 0+{at}", "XLA Ops": "; ".join(made)}
    lake = yield write_case(tmp_path / "case.json", [(1, "/device:TPU:0", lines)])
    assert lake.rows("SELECT DISTINCT kind FROM kernels WHERE name NOT LIKE 'fusion%'") == [(kind,)]
    is_dcn = kind == "communication"
    assert lake.rows("SELECT exposed_communication_us, memory_us FROM time_breakdown") == [
        (232, 0) if is_dcn else (0, 232)
    ]
    # bf16 of 7680 x 8 x 128, each way.
    assert lake.rows("SELECT kind, operations, dur_us, bytes FROM collectives ORDER BY start_ns") == (
        [("send-recv", 2, 82, 15728640), ("send-recv", 2, 281, 15728640)] if is_dcn else []
    )


@in_one_lake
def test_a_callback_of_a_program_on_several_slices_is_no_transfer_between_them(tmp_path):
    made, at = [], 0
    for number, handler, us in [(5, "xla_megascale_runtime", 30), (6, "io_callback", 7)]:
        said = f'is_host_transfer=true, frontend_attributes={{_xla_host_transfer_handler_name="{handler}"}}'
        shape = "(bf16[8,128]{1,0}, u32[], token[])"
        for name, category, call in [
            (f"send.{number}", "host send", f"{shape} send(%fusion.1, %after-all), {said}"),
            # The ends do not name the handler, and have other numbers.
            (f"send-done.{number + 10}", "host send-done", f"token[] send-done({shape} %send.{number})"),
        ]:
            about = {"hlo_category": category, "long_name": f"%{name} = {call}"}
            made.append(f"{name} {at}+{us} {json.dumps(about)}")
            at += us
    lines = {"XLA Modules": f"jit_step(7) 0+{at}", "XLA Ops": "; ".join(made)}
    lake = yield write_case(tmp_path / "case.json", [(1, "/device:TPU:0", lines)])
    assert lake.rows("SELECT exposed_communication_us, memory_us FROM time_breakdown") == [(60, 14)]
    assert lake.rows("SELECT kind, sum(dur_us) FROM kernels GROUP BY kind ORDER BY kind") == [
        ("communication", 60), ("memory", 14)
    ]  # fmt: skip
