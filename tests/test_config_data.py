"""A mistake in what tables and the report read of config/ is one message before any job, not after the races."""

import re
import shutil
from pathlib import Path

import pytest

from workflow import strict_yaml
from workflow.scripts import affine_tables, settings
from workflow.scripts.tables import thesis_tab1

ROOT = Path(__file__).resolve().parents[1]
TAB1, ALIASES = "papers/thesis_tab1.csv", "aliases.yaml"
#: Written in another encoding than UTF-8.
LATIN = "\xe9"


@pytest.mark.parametrize(
    ("file", "old", "new", "said"),
    [
        (TAB1, "1928,ms,", "19x8,ms,", r"thesis_tab1.csv: line \d+: '19x8' is no time; allowed are a number, error, "),
        (TAB1, "1928,ms,", "1928,ms,,", r"thesis_tab1.csv: line \d+: must have the columns table,row,"),
        (TAB1, ",ms,", ",ms", r"thesis_tab1.csv: line 2: must have the columns table,row,"),
        (TAB1, "quantity", "qantity", "thesis_tab1.csv: columns must be table,row,"),
        (
            "papers/thesis_tab6.csv",
            "missing,GCUPS",
            "lost,GCUPS",
            r"thesis_tab6.csv: line \d+: 'lost' is no rate; allowed are a number, error, ",
        ),
        (
            "papers/thesis_tab3.csv",
            "150 nt e=5%,V100",
            "150 nt e=6%,V100",
            "thesis_tab3.csv: row '150 nt e=6%' has no column 'RTX 2080 Ti', which another row has",
        ),
        ("gpus.csv", "SMs,132,count,", "SMs,132,", "gpus.csv: line 3: must have the columns device,property,value"),
        ("gpus.csv", "132,count,", "132,count,,", "gpus.csv: line 3: must have the columns device,property,value"),
        (TAB1, ",ms,", LATIN, "thesis_tab1.csv: must be UTF-8 text"),
        ("gpus.csv", "SMs", LATIN, "gpus.csv: must be UTF-8 text"),
        ("targets/cpu_ratio.csv", "asked", LATIN, "cpu_ratio.csv: must be UTF-8 text"),
        ("targets/cpu_ratio.csv", "asked", "askd", "cpu_ratio.csv: needs numbers 'asked' and 'stretch' of"),
        ("peers/wfa_gpu_h200.yaml", "tool:", "tol:", "wfa_gpu_h200.yaml: unknown key 'tol'; allowed are date, device"),
        (
            "peers/wfa_gpu_h200.yaml",
            "wfa-gpu",
            "wfagpu",
            "key 'tool' must be id of a program that tables have ",
        ),
        (
            "peers/wfa_gpu_h200.yaml",
            "uniform_150_e5:",
            "uniform_150_e5x:",
            "wfa_gpu_h200.yaml: key 'times' has unknown value 'uniform_150_e5x'; allowed are uniform_",
        ),
        ("gpus.csv", "property", "proprty", "gpus.csv: columns must be device,property,value"),
        (
            ALIASES,
            "thesis_tab4",
            "thesis_tab",
            "aliases.yaml: key 'ewfa_tab2' has unknown value 'thesis_tab'; allowed ",
        ),
        (ALIASES, "thesis_tab4", "[", "aliases.yaml, line "),
        (
            ALIASES,
            "thesis_tab4",
            "4",
            "aliases.yaml: key 'ewfa_tab2' must be the id of a table or figure, as text, not 4",
        ),
    ],
)
def test_it_is_named(tmp_path, file, old, new, said):
    shutil.copytree(ROOT / "config", tmp_path / "config")
    (tmp_path / "workflow").symlink_to(ROOT / "workflow")
    path = tmp_path / "config" / file
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new, 1), encoding="latin-1" if new == LATIN else "utf-8")
    with pytest.raises(settings.SettingsError, match=said) as caught:
        settings.load(root=tmp_path, lane="kick")
    assert re.fullmatch(r".+", str(caught.value)), "one line"


def test_every_program_that_may_be_an_external_row_has_a_row_of_its_own():
    told = strict_yaml.read(ROOT / "workflow/schemas/peer.schema.yaml")["properties"]["tool"]
    rows = {row.tool for row in (*thesis_tab1.ROWS, *affine_tables.ROWS)}
    assert set(told["enum"]) <= rows and all(tool in told["description"] for tool in told["enum"])
