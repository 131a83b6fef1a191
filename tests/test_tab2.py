"""thesis Tab 2: the devices as host cards tell them; a value or its reason in every cell."""

import pytest
from click.testing import CliRunner

from tests import synthetic_profiles
from tests.synthetic import SAMPLE
from tests.tables import ROOT, read_csv
from workflow.race import samples
from workflow.scripts.table_output import TIDY_COLUMNS
from workflow.scripts.tables import thesis_tab2

H200 = {"name": "NVIDIA H200", "driver": "580.1", "memory_mib": "143771", "clock_mhz": "1980"}
ATTRIBUTES = {
    "compute_capability": "9.0", "sms": 132, "warp_threads": 32, "threads_per_sm": 2048, "registers_per_sm": 65536,
    "shared_bytes_per_sm": 233472, "shared_bytes_per_block": 49152, "shared_bytes_per_block_optin": 232448,
    "l2_bytes": 62914560, "clock_khz": 1980000, "memory_clock_khz": 3201000, "memory_bus_bits": 6144,
}  # fmt: skip
COPIES = {"h2d_pinned": 55.5, "d2h_pinned": 54.1, "h2d_pageable": 10.7, "d2h_pageable": 19.5}
UNMEASURED = "not measured yet: its races are older than this measurement"


@pytest.fixture
def make(tmp_path):
    """make((host, card, time), ...) draws up the table of races with these host cards; gives the path without suffix.

    The host at hand is "here-2c".
    """

    def make(*races, gpus=ROOT / "config/gpus.csv", more=()):
        files = list(more)
        for number, (host, card, time) in enumerate(races):
            files.append(str(tmp_path / f"{number}.parquet"))
            samples.write(files[-1], [SAMPLE | {"host": host, "time_utc": time}], {"host_card": card})
        options = {"paper": ROOT / "config/papers/thesis_tab2.csv", "gpus": gpus, "host": "here-2c"}
        options["out"] = tmp_path / "out/thesis_tab2"
        run = CliRunner().invoke(thesis_tab2.main, [*files, *(f"--{name}={value}" for name, value in options.items())])
        assert run.exit_code == 0, run.output
        return options["out"]

    return make


def values(out, host):
    """{quantity: value, or why there is none} of a host or a device of the thesis."""
    return {r["quantity"]: r["value"] or r["status"] for r in read_csv(f"{out}.csv") if r["host"] == host}


def test_the_thesis_devices_stand_as_printed_and_the_memory_clock_is_called_one(make):
    out = make()
    v100 = values(out, "V100")
    assert (v100["clock"], v100["shared_memory_per_sm"], v100["bandwidth_h2d_pinned"]) == ("877", "96", "67.1")
    assert v100["compute_capability"] == "7.0" and v100["bandwidth_h2d_pageable"] == "not in the thesis"
    assert len([r for r in read_csv(f"{out}.csv") if r["source"] == "paper" and r["value"]]) == 33
    text = out.with_suffix(".md").read_text()
    assert "| Clock frequency (MHz) | 877 † | 1605 | 1710 |" in text
    assert "877 MHz of the V100 is its memory clock" in text and "† Clock frequency, V100: as printed" in text


def test_a_recorded_gpu_is_read_from_its_host_card(make):
    ours = values(make(("h200-16c", {"gpus": [H200], "pcie_gb_s": COPIES}, "2026-01-02")), "h200-16c")
    assert (ours["clock"], ours["global_memory"]) == ("1980", "140.4")
    assert [ours[f"bandwidth_{name}"] for name in COPIES] == ["55.5", "54.1", "10.7", "19.5"]
    assert (ours["compute_capability"], ours["sms"], ours["l2_cache"]) == ("9.0", "132", "61440")


def test_an_older_card_has_no_bandwidth_and_a_newer_race_without_one_does_not_hide_it(make):
    old, new = {"gpus": [H200]}, {"gpus": [H200], "pcie_gb_s": COPIES}
    assert values(make(("h", old, "2026-01-02")), "h")["bandwidth_d2h_pinned"] == UNMEASURED
    out = make(("h", new, "2026-01-02"), ("h", old, "2026-01-03"))
    assert values(out, "h")["bandwidth_d2h_pinned"] == "54.1"
    failed = make(("h", {"gpus": [H200], "pcie_gb_s": None}, "2026-01-02"))
    assert values(failed, "h")["bandwidth_d2h_pinned"] == "not measured: the copies failed on this host"


def test_what_is_not_known_of_a_gpu_says_why(make):
    gpu = H200 | {"name": "NVIDIA Other", "clock_mhz": "[N/A]"}
    ours = values(make(("h", {"gpus": [gpu]}, "2026-01-02")), "h")
    untold = "config/gpus.csv does not tell it of NVIDIA Other"
    assert ours["sms"] == f"not known: its races did not ask the driver, and {untold}"
    assert ours["clock"] == "nvidia-smi does not tell it ([N/A])" and ours["global_memory"] == "140.4"


def test_a_gpu_that_no_file_knows_is_read_from_its_attributes(make):
    card = {"gpus": [H200 | {"name": "NVIDIA Other"}], "gpu_attributes": ATTRIBUTES}
    out = make(("h", card, "2026-01-02"))
    ours = values(out, "h")
    assert [ours[key] for key in ("compute_capability", "sms", "cores", "warps_per_sm")] == [
        "9.0",
        "132",
        "16896",
        "64",
    ]
    assert [ours[f"{key}_per_sm"] for key in ("registers", "shared_memory")] == ["256", "228"]
    assert (ours["shared_memory_per_block"], ours["shared_memory_per_block_optin"]) == ("48", "227")
    assert (ours["l2_cache"], ours["memory_clock"], ours["memory_bus_width"]) == ("61440", "3201", "6144")
    assert ours["memory_bandwidth"] == "4916.74" and ours["clock"] == "1980"
    text = out.with_suffix(".md").read_text()
    assert "NVIDIA Other, Compute capability, SMs, Maximum warps per SM" in text and "Cores: SMs times" in text


def test_a_profile_tells_what_older_races_do_not(make, tmp_path):
    card = {"gpus": [H200], "gpu_attributes": ATTRIBUTES, "pcie_gb_s": COPIES}
    profile = synthetic_profiles.kernels(host="h", host_card=card)
    path = synthetic_profiles.write(tmp_path / "kernels.json", profile)
    out = make(("h", {"gpus": [H200]}, "2026-02-03"), more=[path])
    ours = values(out, "h")
    assert (ours["memory_clock"], ours["bandwidth_h2d_pinned"]) == ("3201", "55.5")
    assert "host card of 2026-01-02, of its profile, commit" in out.with_suffix(".md").read_text()


def test_what_the_driver_did_not_tell_comes_from_the_file_or_says_why(make):
    card = {"gpus": [H200], "gpu_attributes": {"sms": 131}}
    ours = values(make(("h", card, "2026-01-02")), "h")
    assert (ours["sms"], ours["compute_capability"]) == ("131", "9.0")
    assert ours["memory_clock"].startswith("not known: the driver did not tell it, and config/gpus.csv")


def test_a_host_without_a_gpu_or_without_a_race_says_so(make):
    assert set(values(make(), "here-2c").values()) == {"no race on this host yet"}
    out = make(("here-2c", {"gpus": []}, "2026-01-02"))
    assert set(values(out, "here-2c").values()) == {"no GPU on this host"}
    assert {r["source"] for r in read_csv(f"{out}.csv") if r["host"] == "here-2c"} == {"here"}
    assert "| this host: here-2c |" in out.with_suffix(".md").read_text()


def test_every_value_of_the_gpu_file_is_a_property_of_the_table():
    named = {prop.name: prop.unit for prop in thesis_tab2.PROPERTIES if not prop.gpu and not prop.copy}
    rows = read_csv(ROOT / "config/gpus.csv")
    assert {(row["property"], row["unit"]) for row in rows} <= set(named.items())
    assert all(float(row["value"]) > 0 and row["source"] for row in rows)


def test_the_page_and_the_tidy_file(make):
    out = make(("h200-16c", {"gpus": [H200], "pcie_gb_s": COPIES}, "2026-01-02"))
    page = out.with_suffix(".html").read_text()
    assert '<article id="thesis_tab2">' in page and page.count("<tr>") == 1 + len(thesis_tab2.PROPERTIES)
    assert "<th>NVIDIA H200 (recorded: h200-16c)</th>" in page
    rows = read_csv(f"{out}.tidy.csv")
    assert list(rows[0]) == TIDY_COLUMNS
    assert len(rows) == (3 + 2) * len(thesis_tab2.PROPERTIES)
    assert all(bool(row["value"]) == (row["status"] == "ok") for row in rows)
    (copy,) = [r for r in rows if r["host"] == "h200-16c" and r["quantity"] == "bandwidth_h2d_pinned"]
    assert (copy["value"], copy["unit"], copy["source"]) == ("55.5", "GB/s", "recorded")


@pytest.mark.parametrize("text", [None, "a,b\n1,2\n"])
def test_a_bad_gpu_file_is_one_message_and_exit_code_2(tmp_path, text):
    if text:
        (tmp_path / "gpus.csv").write_text(text)
    run = CliRunner().invoke(thesis_tab2.main, [
        f"--paper={ROOT / 'config/papers/thesis_tab2.csv'}", f"--gpus={tmp_path / 'gpus.csv'}", "--host=h",
        f"--out={tmp_path / 'out'}",
    ])  # fmt: skip
    assert run.exit_code == 2 and "gpus.csv" in run.output and "Traceback" not in run.output
