"""Checks of what the devices of a JAX trace show, by hand on small traces."""

from ...lakes import in_one_lake
from ...summary_cases import CASE_A, CASE_B, write_case

ASKED = 'SELECT "check", severity, value FROM program_checks ORDER BY 1'


def judged(without=0, uneven=0, overlapping=0):
    """Return the rows of the checks with these values; uneven counts from a tenth."""
    return [
        ("devices_without_programs", "info" if without else "ok", without),
        ("overlapping_operations", "info" if overlapping else "ok", overlapping),
        ("uneven_operations", "info" if uneven >= 10 else "ok", uneven),
    ]


@in_one_lake
def test_devices_that_show_their_programs_and_run_them_alike_are_ok(tmp_path):
    lake = yield write_case(tmp_path / "case.json", CASE_B)
    assert lake.rows(ASKED) == judged()


@in_one_lake
def test_operations_without_a_line_of_modules_have_no_program(tmp_path):
    lake = yield write_case(tmp_path / "case.json", CASE_A)
    assert lake.rows(ASKED) == judged(without=1)
    assert lake.rows("SELECT severity FROM health WHERE \"check\" = 'devices_without_programs'") == [("info",)]


@in_one_lake
def test_operations_of_a_line_that_overlap_in_part_are_counted(tmp_path):
    lines = {"XLA Modules": "jit_f(1) 0+40", "XLA Ops": "a 0+10; b 5+10; while.1 20+10; fusion.1 22+3"}
    lake = yield write_case(tmp_path / "case.json", [(1, "/device:TPU:0", lines)])
    assert lake.rows(ASKED) == judged(overlapping=2)


@in_one_lake
def test_a_device_with_fewer_operations_of_a_shared_program_is_told(tmp_path):
    """Device 1 shows one run of two, 2 operations of 4; its own program counts for nothing."""
    runs = "jit_f(1) 0+20; jit_f(1) 30+20"
    operations = "fusion.1 0+9; fusion.2 10+9; fusion.1 30+9; fusion.2 40+9"
    first = (1, "/device:TPU:0", {"XLA Modules": runs, "XLA Ops": operations})
    second = {"XLA Modules": "jit_f(1) 0+20; jit_own(2) 30+20", "XLA Ops": operations.replace("fusion.2 40", "dot 40")}
    lake = yield write_case(tmp_path / "case.json", [first, (2, "/device:TPU:1", second)])
    assert lake.rows(ASKED) == judged(uneven=50)
