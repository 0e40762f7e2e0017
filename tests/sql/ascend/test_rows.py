"""Rows of Ascend's tables of kernels: types, categories, cores, shapes. Real figures are those of the data's own files,
counted with Python's csv and decimal."""

from decimal import Decimal
from pathlib import Path

import pytest

from tracelake.lake import Lake

from ...lakes import in_one_lake
from ...support import data_file
from .files import logical, write_kernels


def ask(lake: Lake, query: str) -> list[tuple]:
    return lake.sql(query).fetchall()


@pytest.fixture
def training(real_lake):
    """A lake with a training step of 591 rows, written by an older exporter."""
    return real_lake("ascend/kernel_details_training_910b_arithmetic.csv")


@pytest.fixture
def excerpt(real_lake):
    """A lake with 29 rows of a newer exporter, three of them repeated."""
    return real_lake("ascend/kernel_details_excerpt_pipeutilization.csv")


def us(text: str) -> int:
    return int(Decimal(text) * 1000)


def test_rows_and_time_by_core_of_a_training_step(training):
    found = ask(training, "SELECT core, count(*), sum(dur_ns) FROM ascend_kernels GROUP BY core")
    assert {core: (rows, total) for core, rows, total in found} == {
        "HCCL": (19, us("346398.74")), "AI_VECTOR_CORE": (520, us("33091.80")), "AI_CORE": (13, us("14252.72")),
        "DSA_SQE": (7, us("2176.58")), "AI_CPU": (7, us("785.18")), "MIX_AIV": (25, us("102.02")),
    }  # fmt: skip


def test_operations_have_the_flop_of_the_shapes_in_their_table(training):
    # The 13 products: 2 x m x n x k of their shapes.
    found = ask(training, "SELECT flop_source, sum(flop), sum(calls) FROM ops GROUP BY flop_source ORDER BY 1")
    assert found == [("none", None, 578), ("shapes", 4_406_636_445_696, 13)]


@in_one_lake
def test_the_wait_of_an_export_that_counts_from_the_start_before_is_unknown(tmp_path):
    path = tmp_path / "op_summary.csv"
    header = "op_name,op_type,task_type,task_start_time,task_duration,task_wait_time"
    # Starts 11 us apart, each 10 us long: 1 us of waiting, where the file has the end less the start before: 21 us.
    rows = [f"Add,Add,AI_VECTOR_CORE,{1760000000000000 + 11 * nth}.000,10.000,{21 * nth}" for nth in range(2)]
    path.write_text("\n".join([header, *rows]) + "\n")
    lake = yield path
    assert ask(lake, "SELECT dur_ns, wait_ns FROM ascend_kernels") == [(10_000, None)] * 2


def test_rows_and_time_by_stream_of_a_training_step(training):
    found = ask(training, "SELECT stream, count(*), sum(dur_ns) FROM kernels GROUP BY stream")
    assert set(found) == {(16, 558, us("47446.54")), (None, 19, us("346398.74")), (17, 14, us("2961.76"))}


def test_rows_and_time_by_type_of_a_training_step(training):
    expected = """
        hcom_broadcast_ 2 308989.62, ZerosLike 2 609.22, Square 28 36.84, hcom_allReduce_ 14 27867.58,
        DropOutDoMask 7 581.22, LpNormUpdateV2 28 33.86, MatMul 9 14070.56, Transpose 7 207.96, Greater 25 31.22,
        ApplyAdamW 28 12939.38, ScaledMaskedSoftmax 2 182.96, Index 1 26.50, Cast 75 5904.02, BatchMatMul 4 182.16,
        Tril 1 16.88, hcom_allGather_ 2 4927.12, FastGelu 2 173.06, Less 3 14.14, hcom_reduceScatter_ 1 4614.42,
        MemSet 84 171.70, OnesLike 4 11.92, Mul 35 3370.56, GatherV2 2 163.90, LogicalNot 4 6.00,
        DSAStatelessGenBitMask 7 2176.58, BroadcastTo 5 129.82, GreaterEqual 2 4.08, Add 43 2129.80, NonZero 25 102.02,
        Slice 2 3.68, RealDiv 6 1792.68, Sub 4 82.88, LogicalOr 2 2.88, ReduceSumD 31 1684.92, ArgMaxWithValue 1 77.78,
        Log 1 1.96, LayerNormV3 5 1640.02, AsStrided 6 72.48, Reciprocal 1 1.40, LpNormReduceV2 28 1633.24,
        StridedSliceD 50 70.88, Fill 1 1.38, Exp 1 65.76"""
    rows = [entry.split() for entry in expected.split(",")]
    assert set(ask(training, "SELECT op_type, count(*), sum(dur_ns) FROM kernels GROUP BY op_type")) == {
        (name, int(count), us(total)) for name, count, total in rows
    }


def test_rows_and_time_by_category_of_a_training_step(training):
    found = ask(training, "SELECT op_category, count(*), sum(dur_ns) FROM ascend_kernels GROUP BY op_category")
    assert {category: (rows, total) for category, rows, total in found} == {
        "communication": (19, us("346398.74")), "matmul": (13, us("14252.72")), "optimizer": (28, us("12939.38")),
        "vector": (180, us("7642.22")), "cast": (75, us("5904.02")), "reduce": (88, us("3429.80")),
        "random": (14, us("2757.80")), "norm": (5, us("1640.02")), "fill": (92, us("811.10")),
        "memory": (70, us("484.82")), "embedding_gather": (3, us("190.40")), "attention": (2, us("182.96")),
        "activation": (2, us("173.06")),
    }  # fmt: skip


def test_categories_that_all_vendors_share_fold_one_to_one_into_ascends_own(training):
    found = ask(
        training,
        "SELECT DISTINCT op_category, category, kind FROM ascend_kernels JOIN kernels USING (trace_id, kernel_id)",
    )
    assert set(found) == {
        ("communication", "communication", "communication"), ("matmul", "gemm", "compute"),
        ("optimizer", "optimizer", "compute"), ("vector", "elementwise", "compute"), ("cast", "cast", "compute"),
        ("reduce", "reduce", "compute"), ("random", "random", "compute"), ("norm", "norm", "compute"),
        ("fill", "fill", "compute"), ("memory", "copy", "compute"), ("embedding_gather", "index", "compute"),
        ("attention", "attention", "compute"), ("activation", "activation", "compute"),
    }  # fmt: skip


def test_cells_of_a_training_step_have_their_types(training):
    [(steps, models, wait, blocks, mixed, contexts)] = ask(
        training,
        "SELECT list_distinct(list(step_id)), count(model_id), sum(wait_ns), count(*) FILTER (block_num = 48),"
        " count(*) FILTER (mix_block_num IS NULL), count(*) FILTER (context_id = 1) FROM ascend_kernels",
    )
    assert (steps, models, wait, blocks, mixed, contexts) == ([1], 0, us("130309.59"), 177, 19, 25)


def test_collectives_of_a_training_step_have_no_twins(training):
    [row] = ask(
        training,
        "SELECT hcom_rows, hcom_us, counted_rows, counted_us, removed_rows, service_rows, unpaired_rows,"
        " exact_duplicates FROM double_counts",
    )
    assert row == (19, 346398.74, 19, 346398.74, 0, 0, 0, 0)
    assert ask(training, "SELECT * FROM kernel_duplicates") == []


def test_a_type_on_two_cores_is_two_groups(training):
    found = ask(training, "SELECT core, count(*), sum(dur_ns) FROM ascend_kernels WHERE op_type = 'Cast' GROUP BY core")
    assert set(found) == {("AI_VECTOR_CORE", 68, us("5118.84")), ("AI_CPU", 7, us("785.18"))}


def test_the_excerpt_keeps_its_repeated_rows_and_says_so(excerpt):
    assert ask(excerpt, "SELECT count(*), sum(dur_ns) FROM kernels") == [(29, us("10061.159"))]
    assert ask(excerpt, "SELECT hcom_rows, removed_rows, exact_duplicates FROM double_counts") == [(0, 0, 3)]


def test_rows_and_time_by_core_and_type_of_the_excerpt(excerpt):
    found = ask(
        excerpt,
        "SELECT core, core_group, op_type, op_category, count(*), sum(dur_ns) FROM ascend_kernels GROUP BY ALL",
    )
    assert set(found) == {
        ("MIX_AIC", "cube", "FlashAttentionScoreGrad", "attention", 4, us("3038.440")),
        ("MIX_AIC", "cube", "FlashAttentionScore", "attention", 5, us("2033.780")),
        ("AI_CORE", "cube", "MatMulV3", "matmul", 8, us("4122.342")),
        ("AI_CORE", "cube", "MatMulV2", "matmul", 4, us("750.595")),
        ("AI_VECTOR_CORE", "vector", "Add", "vector", 8, us("116.002")),
    }


def test_cells_of_the_excerpt_have_their_types(excerpt):
    [row] = ask(
        excerpt,
        "SELECT min(step_id), max(step_id), min(stream), max(stream), min(op_state), sum(wait_ns), min(start_ns),"
        " max(start_ns), count(context_id), count(*) FILTER (mix_block_num = 40) FROM ascend_kernels",
    )
    assert row == (19, 19, 2, 2, "dynamic", us("113.955"), 1736413971411629128, 1736413974268747953, 9, 9)


@in_one_lake
def test_types_of_a_table_without_types_are_in_the_names():
    lake = yield data_file("ascend/kernel_details_level0.csv")
    found = ask(lake, "SELECT name, op_type, op_category, core, core_group FROM ascend_kernels ORDER BY kernel_id")
    assert [row[:3] for row in found] == [
        ("Cast16", "Cast", "cast"), ("trans_Cast_19", "Cast", "cast"), ("trans_TransData_20", "TransData", "memory"),
        ("trans_Cast_21", "Cast", "cast"), ("Conv2D17", "Conv2D", "conv"),
        ("trans_TransData_22", "TransData", "memory"), ("Add18", "Add", "vector"),
        ("atomic_memset-1_18_186609_1", "atomic_memset-1_18_186609_1", "fill"),
    ]  # fmt: skip
    assert {row[3:] for row in found} == {(None, "unknown")}
    assert ask(lake, "SELECT sum(dur_ns), sum(wait_ns) FROM ascend_kernels") == [(1000850, us("519087.0202"))]
    assert ask(lake, "SELECT count(*) FROM kernels WHERE kind = 'compute'") == [(8,)]


NAMES = [
    ("aclnnMm_TransData_TransData", "TransData"),
    ("aclnnReduceSum_CastAiCpu_Cast", "Cast"),
    ("aclnnFoo_launch_split_qkv_rmsnorm_rope_kernel", "split_qkv_rmsnorm_rope_kernel"),
    ("aclnnMm", "aclnnMm"),
    ("MatMulV212", "MatMulV2"),  # not MatMul and V212
    ("MatMul7", "MatMul"),
    ("trans_TransData_20", "TransData"),
    ("Conv2D17", "Conv2D"),
    ("Conv2D", "Conv2D"),
    ("AddFoo3", "AddFoo3"),  # more than a number follows Add
    ("Add_3x", "Add_3x"),
    ("memcommit", "memcommit"),
    ("reshape_and_cache_200000000", "reshape_and_cache_200000000"),
    ("hcom_allReduce__428_0_1", "hcom_allReduce_"),
    ("hcom_newKind__a1b_12", "hcom_newKind_"),
    ("12345678901234567890123456789", "12345678901234567890123456789"),
]  # fmt: skip


@in_one_lake
def test_a_row_without_a_type_is_named_by_its_name(tmp_path):
    rows = [{"Name": name, "Type": "N/A", "Start Time(us)": str(nth)} for nth, (name, _) in enumerate(NAMES)]
    lake = yield write_kernels(tmp_path / "kernel_details.csv", *rows)
    assert ask(lake, "SELECT name, op_type FROM ascend_kernels ORDER BY kernel_id") == NAMES


VARIANTS = [
    ("split_qkv_rmsnorm_rope_kernel_2", "split_qkv_rmsnorm_rope_kernel", "fused_norm_rope"),
    ("muls_add_kernel_1", "muls_add_kernel", "vector"),
    ("_triton_rope_12", "_triton_rope", "rope"),
    ("batch_matmul_transpose_0", "batch_matmul_transpose", "matmul"),
    ("reshape_and_cache_200000000", "reshape_and_cache_200000000", "kv_cache"),
    ("mla_preprocess_0_mix_aic", "mla_preprocess_0_mix_aic", "attention"),
    ("AddAiCore", "Add", "vector"),
    ("AscendQuantV2Aicore", "AscendQuantV2", "quant"),
    ("LayerNormV3WithImplMode", "LayerNormV3", "norm"),
    # Kernels of ATB have the types of their elements in their names.
    ("AddBF16Kernel", "Add", "vector"),
    ("CastF16toF32Kernel", "Cast", "cast"),
    ("ConcatF16Input2Kernel", "Concat", "memory"),
    ("Gather16I64Kernel", "Gather", "embedding_gather"),
    ("ScatterElementsV2Float16Int32Kernel", "ScatterElementsV2", "embedding_gather"),
    ("RINGMLAPrefillBF16Kernel", "RINGMLAPrefillBF16Kernel", "attention"),  # a type of its own
    ("MLAPrefillBF16Kernel", "MLAPrefill", "attention"),
    ("MoeGmmW8a8Kernel", "MoeGmmW8a8Kernel", "moe_matmul"),
    ("Foo_1", "Foo_1", "other"),  # no lower-case symbol
    ("MATMULV2", "MATMULV2", "matmul"),  # in any case
    ("PagedAttentionMaskNd", "PagedAttentionMaskNd", "attention"),
    ("DSARandomUniform", "DSARandomUniform", "sampling"),  # the table before the pattern DSA*
    ("DSARandomNormal", "DSARandomNormal", "random"),
    ("hcom_allReduce_AicpuKernel", "hcom_allReduce_AicpuKernel", "comm_service"),
    ("QuantMatmulAllReduceV2", "QuantMatmulAllReduceV2", "mc2"),
    ("comm", "comm", "other"),  # letters inside a word say nothing
    ("memcommit", "memcommit", "other"),
    ("formatnorm", "formatnorm", "other"),
]  # fmt: skip


@in_one_lake
def test_variants_fold_into_one_type_with_one_category(tmp_path):
    rows = [{"Type": op_type, "Start Time(us)": str(nth)} for nth, (op_type, _, _) in enumerate(VARIANTS)]
    lake = yield write_kernels(tmp_path / "kernel_details.csv", *rows)
    found = ask(lake, "SELECT op_type, op_type_folded, op_category FROM ascend_kernels ORDER BY kernel_id")
    assert found == VARIANTS
    # Rows of the AI CPU for collectives do not count.
    shown = [folded for _, folded, category in VARIANTS if category != "comm_service"]
    assert ask(lake, "SELECT display_name FROM kernels ORDER BY kernel_id") == [(folded,) for folded in shown]


#: Op types whose category, shared by all vendors, is not the one that most of their kind have.
FINER = {
    "ChunkGatedDeltaRuleFwdH": "linear_attention", "EmbeddingBag": "embedding", "Cumsum": "scan",
    "HistogramV2": "index", "ArgMaxV2": "reduce", "Sort": "sort", "TopKV2": "topk", "DSARandomUniform": "random",
    "DispatchFFNCombine": "moe_gemm", "MoeDistributeDispatchV2": "communication",
    "MoeDistributeCombineV2": "communication",
    # Of vLLM's rejection sampler: a value for each of a request's draft tokens.
    "expand_kernel": "sampling",
}  # fmt: skip


def test_every_known_type_has_the_category_that_all_vendors_share(lake, tmp_path):
    types = [name for (name,) in ask(lake, "SELECT op_type FROM ascend_op_types ORDER BY ALL")]
    rows = [
        {"Type": name, "Name": name, "Start Time(us)": f"{nth * 10}",
         "Accelerator Core": "MEMCPY_ASYNC" if name == "MEMCPY_ASYNC" else "AI_CORE"}
        for nth, name in enumerate(types)
    ]  # fmt: skip
    lake.ingest(write_kernels(tmp_path / "kernel_details.csv", *rows))
    said = dict(
        ask(lake, "SELECT op_type, category FROM ascend_op_types JOIN ascend_op_categories USING (op_category)")
    )
    said |= FINER | {"MEMCPY_ASYNC": "memcpy"}
    [(trace_id,)] = ask(lake, "SELECT trace_id FROM traces")
    lake.set(trace_id, dedup="none")
    found = {
        name: (category, kind) for name, category, kind in ask(lake, "SELECT op_type, category, kind FROM kernels")
    }
    assert {name: category for name, (category, _) in found.items()} == said
    communication = {name for name, category in said.items() if category == "communication"}
    assert {name for name, (_, kind) in found.items() if kind == "communication"} == communication
    assert {name for name, (_, kind) in found.items() if kind == "memory"} == {"MEMCPY_ASYNC"}


CORES = [
    ("AI_CORE", "cube"), ("AI_VECTOR_CORE", "vector"), ("MIX_AIC", "cube"), ("MIX_AIV", "vector"),
    ("AI_CPU", "aicpu"), ("DSA_SQE", "dsa"), ("DVPP", "dvpp"), ("DVPP_VPC", "dvpp"), ("FFTS_PLUS", "other"),
    ("HCCL", "communication"), ("COMMUNICATION", "communication"), ("CCU", "communication"), ("DPU", "other"),
    ("N/A", "unknown"), ("", "unknown"), ("Other", "unknown"), ("MEMCPY_ASYNC", "memory"), ("SDMA_SQE", "memory"),
    ("EVENT_WAIT", "control"), ("NOTIFY_WAIT_SQE", "control"), ("PLACE_HOLDER_SQE", "control"),
    ("PROFILING_ENABLE", "control"), ("SOMETHING_NEW", "other"),
    # Parts of tasks of graphs (FFTS+), as in msprof's deviceTaskFftsPlusTypeMap.
    ("AIC", "cube"), ("AIV", "vector"), ("Notify Wait", "control"), ("Notify Record", "control"),
    ("Write Value", "control"), ("SDMA", "memory"), ("Data Context", "control"),
    ("Invalidate Data Context", "control"), ("Writeback Data Context", "control"), ("Load Context", "control"),
    ("DSA", "dsa"),
    # Names of tasks in CANN's runtime.
    *((core, "control") for core in (
        "DAVID_EVENT_RECORD DAVID_EVENT_WAIT DAVID_EVENT_RESET CAPTURE_RECORD CAPTURE_WAIT IPC_EVENT_RECORD "
        "IPC_EVENT_WAIT IPC_INT_NOTICE REMOTE_EVENT_WAIT MEM_WRITE_VALUE MEM_WAIT_VALUE WriteValueTask LABEL_SET "
        "LABEL_SWITCH LABEL_GOTO NOP BARRIER FLIP_TASK TASK_SQE_UPDATE TASK_TIMEOUT_SET AICPU_LOADINFO "
        "ACTIVE_AICPU_STREAM CREATE_STREAM SET_STREAM_MODE MAINTENANCE CREATE_L2_ADDR PC_TRACE DATADUMP_LOADINFO "
        "ONLINE_PROF_ENABLE ONLINE_PROF_DISABLE ADC_PROF DEBUG_REGISTER DEBUG_UNREGISTER_FOR_STREAM "
        "FUSIONDUMP_ADDR_SET GET_DEVICE_MSG GET_STARS_VERSION OVERFLOW_SWTICH_SET ALLOC_DSA_ADDR "
        "DEVICE_RINGBUFFER_CONTROL HOSTFUNC_CALLBACK").split()),
    ("KERNEL_MIX_AIC", "cube"), ("KERNEL_MIX_AIV", "vector"), ("KERNEL_SIMT", "vector"), ("UBDMA", "memory"),
    ("REDUCE_ASYNC_V2", "memory"), ("KERNEL_FUSION", "other"),
]  # fmt: skip


@in_one_lake
def test_cores_have_groups_and_control_tasks_are_no_kernels(tmp_path):
    rows = [
        {"Type": "Foo", "Accelerator Core": core, "Start Time(us)": str(nth)} for nth, (core, _) in enumerate(CORES)
    ]
    lake = yield write_kernels(tmp_path / "kernel_details.csv", *rows)
    found = ask(lake, "SELECT core_group, counted FROM ascend_kernels ORDER BY kernel_id")
    assert found == [(group, group != "control") for _, group in CORES]
    kernels = [nth for nth, (_, group) in enumerate(CORES) if group != "control"]
    assert ask(lake, "SELECT kernel_id FROM kernels ORDER BY ALL") == [(nth,) for nth in kernels]


@in_one_lake
def test_a_wait_or_record_by_a_new_name_is_no_kernel_unless_an_operator_runs_on_it(tmp_path):
    rows = [
        ("NEW_EVENT_WAIT", "N/A"), ("NEW_EVENT_RECORD_SQE", "NEW_EVENT_RECORD_SQE"), ("NEW_WAIT_VALUE", "N/A"),
        ("New Wait", "N/A"), ("NEW_EVENT_WAIT", "Add"), ("NEW_WAITING", "N/A"),
    ]  # fmt: skip
    lake = yield write_kernels(
        tmp_path / "kernel_details.csv",
        *({"Name": core, "Accelerator Core": core, "Type": op_type, "Start Time(us)": str(nth)}
          for nth, (core, op_type) in enumerate(rows)),
    )  # fmt: skip
    assert ask(lake, "SELECT kernel_id FROM kernels ORDER BY ALL") == [(4,), (5,)]


@in_one_lake
def test_starts_that_a_spreadsheet_rounded_are_counted_and_durations_stay(tmp_path):
    # The third has all digits of its whole microseconds, the fourth no exponent.
    starts = ("1.69512E+15", "1.69512e+15", "1.695120123456789E+15", "1695120123456789.125")
    rows = [{"Start Time(us)": start, "Duration(us)": "2.5"} for start in starts]
    lake = yield write_kernels(tmp_path / "kernel_details.csv", *rows)
    query = "SELECT severity, value FROM health WHERE \"check\" = 'rounded_starts'"
    assert ask(lake, query) == [("warning", 2)]
    assert ask(lake, "SELECT sum(dur_us) FROM kernels") == [(10.0,)]


SLOTS = [
    ('"8,25"', "FLOAT", "[[8,25]]"),
    ('"4,1025;2;2"', "FLOAT;INT64;INT64", "[[4,1025],[2],[2]]"),
    ('"8,4;"', "FLOAT;FLOAT", "[[8,4],[]]"),
    ('";"', "FLOAT;FLOAT", "[[],[]]"),
    ('""', "FLOAT", "[[]]"),
    ('""', "DT_UNDEFINED", "[null]"),
    ('"8;;4"', "FLOAT;DT_UNDEFINED;FLOAT", "[[8],null,[4]]"),
    ('"8;4;"', "FLOAT;FLOAT", "[[8],[4]]"),  # one empty slot more than types
    ('"8"', "FLOAT;FLOAT", "[[8],[]]"),  # the shorter list is padded
    ('"()"', "FLOAT", "[[]]"),
    ('"[2,8];[8, 4];[]"', "FLOAT;FLOAT;FLOAT", "[[2,8],[8,4],[]]"),
    ('"[[2, 8], [8, 4]]"', "FLOAT;FLOAT", "[[2,8],[8,4]]"),
    ("N/A", "N/A", None),
]  # fmt: skip


@in_one_lake
def test_slots_of_shapes_keep_their_places(tmp_path):
    rows = [
        {"Output Shapes": shapes, "Output Data Types": types, "Input Shapes": shapes, "Input Data Types": types,
         "Start Time(us)": str(nth)} for nth, (shapes, types, _) in enumerate(SLOTS)
    ]  # fmt: skip
    lake = yield write_kernels(tmp_path / "kernel_details.csv", *rows)
    wanted = [(dims,) for _, _, dims in SLOTS]
    assert ask(lake, "SELECT output_dims FROM ascend_kernels ORDER BY kernel_id") == wanted
    assert ask(lake, "SELECT input_dims FROM kernels ORDER BY kernel_id") == wanted


@in_one_lake
def test_missing_cells_are_null_and_the_row_stays(tmp_path):
    row = {
        "Task ID": "N/A", "Stream ID": "", "Block Num": "N/A", "Wait Time(us)": "N/A", "OP State": "N/A",
        "Model ID": "12", "Mix Block Num": "",
    }  # fmt: skip
    path: Path = write_kernels(tmp_path / "kernel_details.csv", row)
    lake = yield path
    found = ask(
        lake,
        "SELECT task_id, stream, block_num, wait_ns, op_state, mix_block_num, context_id, input_types, model_id,"
        " counted FROM ascend_kernels",
    )
    assert found == [(None, None, None, None, None, None, None, None, 12, True)]


@in_one_lake
def test_nothing_but_the_needed_columns_is_enough(tmp_path):
    path = write_kernels(
        tmp_path / "kernel_details.csv", {"Type": "MatMulV2"}, {"Type": "Cast", "Start Time(us)": "5"},
        drop=("Device_id", "Model ID", "Task ID", "Stream ID", "Name", "OP State", "Accelerator Core", "Wait Time(us)",
              "Block Num", "Mix Block Num", "Input Shapes", "Input Data Types", "Input Formats", "Output Shapes",
              "Output Data Types", "Output Formats", "Context ID"),
    )  # fmt: skip
    lake = yield path
    found = ask(lake, "SELECT device, op_type, category, kind FROM kernels ORDER BY kernel_id")
    assert found == [(0, "MatMulV2", "gemm", "compute"), (0, "Cast", "cast", "compute")]


@pytest.mark.parametrize(("second", "found"), [("5", [(5, 3, 12)]), ("6", [(0, 1, 9), (5, 1, 1), (6, 1, 2)])])
@in_one_lake
def test_a_row_without_a_device_belongs_to_the_only_device_of_the_table(tmp_path, second, found):
    lake = yield write_kernels(
        tmp_path / "kernel_details.csv",
        {"Device_id": "5", "Start Time(us)": "100", "Duration(us)": "1"},
        {"Device_id": second, "Start Time(us)": "200", "Duration(us)": "2"},
        logical("allReduce", "428_0_1", "300", "9", Device_id="N/A"),
    )
    assert lake.rows("SELECT device, count(*), sum(dur_us) FROM kernels GROUP BY device ORDER BY device") == found
