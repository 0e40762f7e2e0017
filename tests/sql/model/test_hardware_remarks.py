"""Remarks on the figures of a chip: their source, and peaks whose ratio is not that of dense ones."""

from tracelake.lake import Lake

HEADER = "hardware,vendor,name,peak_bf16_tflops,peak_fp8_tflops,peak_fp4_tflops,hbm_gbps"


def own(tmp_path, header, *lines):
    """Open a lake with a hardware.csv of its own."""
    with Lake(tmp_path / "lake"):
        pass
    (tmp_path / "lake" / "lookup").mkdir()
    (tmp_path / "lake" / "lookup" / "hardware.csv").write_text("\n".join([header, *lines]) + "\n")
    return Lake(tmp_path / "lake")


def test_shipped_figures_have_sources_and_plausible_ratios(tmp_path):
    with Lake(tmp_path / "lake") as lake:
        assert lake.rows("SELECT * FROM hardware_remarks") == []


def test_a_user_s_row_has_not_the_source_of_the_row_that_it_replaces(tmp_path):
    with own(tmp_path, HEADER, "h100_sxm,nvidia,H100 mine,800,1600,,3000") as lake:
        query = "SELECT name, peak_bf16_tflops, source, trusted, num_sms FROM hardware WHERE hardware = 'h100_sxm'"
        # The columns that are left out are those of the shipped row otherwise.
        assert lake.rows(query) == [("H100 mine", 800, None, False, 132)]
        assert lake.rows("SELECT source, trusted FROM hardware WHERE hardware = 'h200'") != [(None, False)]


def test_a_row_keeps_the_source_that_it_gives(tmp_path):
    with own(tmp_path, HEADER + ",source,trusted", "mine,acme,Acme X1,500,1000,2000,2000,data sheet,true") as lake:
        assert lake.rows("SELECT source, trusted FROM hardware WHERE hardware = 'mine'") == [("data sheet", True)]
        assert lake.rows("SELECT * FROM hardware_remarks") == []


def test_figures_without_a_source_or_with_sparsity_are_remarked_on(tmp_path):
    with own(tmp_path, HEADER, "mine,acme,Acme X1,500,1500,6000,2000") as lake:
        remarks = [
            "its peak in FP4 is 4 times that in FP8, expected 1 or 2",
            "its peak in FP8 is 3 times that in BF16, expected 1 or 2",
            "no source is given for its figures",
        ]
        assert lake.rows("SELECT remark FROM hardware_remarks WHERE hardware = 'mine' ORDER BY ALL") == [
            (remark,) for remark in remarks
        ]
