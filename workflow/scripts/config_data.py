"""What config/ holds besides settings: papers' values, targets, external measurements, GPU models, aliases.

Tables, figures and the report read these files after the races. Here each is read once before any job, so that a
mistake in one does not show only then.
"""

from workflow.scripts import config_files, cpu_ratios, gpu_cards, papers, table_peers
from workflow.scripts.config_files import SettingsError

ALIASES = "config/aliases.yaml"


def check(root):
    """Read the files of the project in that folder. Raises SettingsError for the first that its reader refuses."""
    readers = {
        "config/papers/*.csv": papers.read,
        "config/papers/thesis_*.csv": papers.read_grid,
        "config/targets/cpu_ratio.csv": cpu_ratios.read_targets,
        "config/peers/*.yaml": lambda path: table_peers.read([path]),
        "config/gpus.csv": gpu_cards.models,
    }
    for pattern, read in readers.items():
        for path in sorted(root.glob(pattern)):
            try:
                read(path)
            except ValueError as error:
                raise SettingsError(str(error)) from None
    _check_aliases(root)


def _check_aliases(root):
    """Every alias is another name of a table or figure that there is a script for."""
    aliases = config_files.read_yaml(root / ALIASES, root) or {}
    config_files.check(aliases, "aliases", ALIASES)
    known = sorted(path.stem for kind in ("tables", "figures") for path in root.glob(f"workflow/scripts/{kind}/*.py"))
    for alias, name in aliases.items():
        if name not in known:
            raise SettingsError(f"{ALIASES}: key '{alias}' has unknown value '{name}'; allowed are {', '.join(known)}")
