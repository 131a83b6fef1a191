"""Settings of a run: config.yaml, the lane, the experiments and the table of real reads, read and checked together.

Every mistake is a SettingsError with one message that names the file, the key and what is allowed, before any job.
"""

import importlib.util
import inspect
import re
import urllib.parse
import urllib.request
from dataclasses import asdict, dataclass
from pathlib import Path

from workflow import aligners
from workflow.race import host, planning
from workflow.scripts import config_data, real_data
from workflow.scripts.config_files import ROOT, SettingsError, check, read_yaml

CONFIG = "config/config.yaml"
COMMAND_LINE = "command line"
#: Tables and figures that show another experiment than the one of their own name.
NEEDS = {
    "thesis_tab2": "thesis_tab1",
    "thesis_tab3": "thesis_tab1",
    "thesis_tab6": "thesis_tab1",
    "thesis_tab7": "thesis_tab9",
    "thesis_fig10": "thesis_tab9",
}
UNIFORM = re.compile(r"uniform_(?P<length>[1-9]\d*)_e(?P<percent>\d+(\.\d+)?)")


@dataclass(frozen=True)
class Settings:
    """What a run is asked to do, checked.

    config: config.yaml as a dict. lane: the lane's file as a dict. experiments: {id: the experiment's file as a dict}.
    real_rows: the rows of real_data.tsv that can be mapped here, as real_data.read_table gives them. left_rows: those
    that cannot. unmapped: why, "" where there are none. gpu: whether this host has one.
    """

    config: dict
    lane: dict
    experiments: dict
    real_rows: tuple
    left_rows: tuple = ()
    unmapped: str = ""
    gpu: bool = False

    def raced(self, experiment):
        """Whether this host can race the experiment: one of GPU tools alone has nothing to time without a GPU."""
        return self.gpu or self.experiments[experiment].get("needs") != "gpu"

    def datasets(self, experiment):
        """Data sets of one experiment that are raced here: those of this lane, in order, real ones in the place of
        their technology; none where this host cannot race it.
        """
        if not self.raced(experiment):
            return []
        chosen = []
        for name in self.narrowed(experiment)["datasets"]:
            real = [row.dataset for row in self.real_rows if row.technology == name]
            if real or planning.is_real(name):
                chosen += real or [name]
            elif name in self.lane["pairs"]:
                chosen.append(name)
        return list(dict.fromkeys(chosen))

    def left_out(self, experiment):
        """Data sets of one experiment that this lane does not hold."""
        chosen, real = self.datasets(experiment), {row.technology for row in self.real_rows}
        return [d for d in self.experiments[experiment]["datasets"] if d not in chosen and d not in real]

    def narrowed(self, experiment):
        """The experiment's file with what the lane narrows: data sets, scopes, threads, tools."""
        return planning.narrowed(self.experiments[experiment], self.lane)

    def pairs(self, dataset):
        """Pairs of a data set in this lane; for a real one the most that are taken."""
        return self.lane["real_pairs"] if planning.is_real(dataset) else self.lane["pairs"][dataset]

    def raced_pairs(self, experiment, dataset):
        """Pairs of a data set that the experiment takes in this lane; for a real one the most."""
        return min(self.pairs(dataset), self.experiments[experiment].get("most_pairs", self.pairs(dataset)))

    def simulator_arguments(self, dataset):
        """Command line of ``python -m simulators`` for a data set, as text."""
        uniform = UNIFORM.fullmatch(dataset)
        model = dataset
        if uniform:
            model = f"uniform --length {uniform['length']} --error {float(uniform['percent']) / 100:g}"
        return f"{model} --pairs {self.pairs(dataset)} --seed {self.config['seed']}"

    def real_fields(self, name):
        """{column: value} of the row of real_data.tsv of that name."""
        return next(asdict(row) for row in self.real_rows if row.name == name)

    def real_files(self, name):
        """Those of its reads and reference that lie on this machine."""
        fields = self.real_fields(name)
        return [path for path in map(local_file, (fields["reads"], fields["reference"])) if path]

    def tool_files(self, experiment):
        """Files behind the experiment's tools: adapters, and the kernels of our own."""
        found = set()
        for adapter in self._adapters(experiment):
            own = Path(inspect.getfile(type(adapter)))
            found.update({str(own.relative_to(ROOT) if own.is_relative_to(ROOT) else own), *adapter.sources})
        return sorted(found)

    def tool_versions(self, experiment):
        """What keys the samples of the experiment's tools, as text: their source hashes, builds, and versions, or why
        they are missing, on the machine that plans the run."""
        return "\n".join(
            f"{adapter.id} {adapter.source_hash()} {adapter.build()} {self._version(adapter)}"
            for adapter in self._adapters(experiment)
        )

    def _version(self, adapter):
        if adapter.device == "cuda":  # to ask it would be to use the GPU
            return "on a GPU" if self.gpu else "no GPU"
        try:
            return adapter.version()
        except aligners.ToolMissing as why:
            return str(why)

    def _adapters(self, experiment):
        known = aligners.load()
        return [known[tool] for tool in self.narrowed(experiment)["tools"]]


def load(config=None, lane=None, root=ROOT):
    """Settings of a run.

    config: a dict that stands for config.yaml (Snakemake's, with --config merged in); None reads the file.
    lane: the lane's name, instead of the configuration's. Raises SettingsError.
    """
    lanes = ["auto", *_names_in(root / "config/lanes", "*.yaml")]
    written = read_yaml(root / CONFIG, root)
    config = written if config is None else config
    # What the file alone does not have wrong comes from the command line.
    for values, place in ((written, CONFIG), (config, COMMAND_LINE)):
        check(values, "config", place)
        _among(values["lane"], lanes, "lane", place)
        _known_scripts(values, root, place)
    try:
        host.named_id()
    except host.HostError as error:
        raise SettingsError(str(error)) from None
    lane_name, gpu = lane or config["lane"], bool(host.gpus())
    _among(lane_name, lanes, "lane", COMMAND_LINE)
    if lane_name == "auto":
        lane_name = "lite" if gpu else "kick"
    rows = _real_rows(root / config["real_data"])
    unmapped = _why_unmapped() if rows else ""
    rows, left_rows = ((), rows) if unmapped else (rows, ())
    real = tuple(row.dataset for row in rows)
    experiments = {name: _experiment(name, real, root) for name in config["experiments"]}
    config_data.check(root)
    _peers(root)
    lane = _lane(lane_name, root)
    for name, experiment in experiments.items():
        _plan(experiment, lane, f"config/experiments/{name}.yaml")
    return Settings(config, lane, experiments, rows, left_rows, unmapped, gpu)


def _why_unmapped():
    """Why no reads can be mapped here, or "": mappy needs a C compiler to install."""
    return "" if importlib.util.find_spec("mappy") else "mappy is not installed, it needs a C compiler to build"


def _among(value, allowed, key, file):
    if value not in allowed:
        raise SettingsError(
            f"{file}: key '{key}' has unknown value '{value}'; allowed are {', '.join(map(str, allowed))}"
        )


def _names_in(folder, pattern):
    return sorted(path.stem for path in folder.glob(pattern) if not path.stem.startswith("_"))


def _known_scripts(config, root, place):
    """Every table, figure and experiment named has its file."""
    for key, folder, pattern in (
        ("experiments", "config/experiments", "*.yaml"),
        ("tables", "workflow/scripts/tables", "*.py"),
        ("figures", "workflow/scripts/figures", "*.py"),
    ):
        allowed = _names_in(root / folder, pattern)
        for name in config[key]:
            _among(name, allowed, key, place)
    _measured(config, _names_in(root / "config/experiments", "*.yaml"), place)


def _measured(config, known, place):
    """Every table and figure named has its experiment named, too; known: every experiment there is."""
    for key in ("tables", "figures"):
        for name in config[key]:
            needed = NEEDS.get(name, name)
            if needed in known and needed not in config["experiments"]:
                raise SettingsError(
                    f"{place}: key '{key}': {name} needs the experiment {needed}, which key 'experiments' does not "
                    f"name; it names {', '.join(config['experiments'])}"
                )


def local_file(source):
    """Path of a real_data.tsv source that lies on this machine, or None for an http(s) URL."""
    parts = urllib.parse.urlsplit(source)
    if parts.scheme in ("http", "https"):
        return None
    return urllib.request.url2pathname(parts.path) if parts.scheme == "file" else source


def _real_rows(path):
    try:
        rows = tuple(real_data.read_table(path))
    except real_data.RealDataError as error:
        raise SettingsError(str(error)) from None
    for row in rows:
        for column in ("reads", "reference"):
            local = local_file(getattr(row, column))
            if local and not Path(local).is_file():
                raise SettingsError(f"{path}: {column} of {row.name}: no such file: {local}")
    return rows


def _peers(root):
    """What was measured elsewhere was measured on data sets that there are."""
    for path in sorted(root.glob("config/peers/*.yaml")):
        for dataset in read_yaml(path, root)["times"]:
            _known_dataset(dataset, (), "times", path.relative_to(root))


def _lane(name, root):
    file = f"config/lanes/{name}.yaml"
    lane = read_yaml(root / file, root)
    check(lane, "lane", file)
    _among(lane["name"], [name], "name", file)
    if lane["rounds"]["max"] < lane["rounds"]["min"]:
        raise SettingsError(f"{file}: key 'rounds.max' must be at least rounds.min ({lane['rounds']['min']})")
    for dataset in lane["pairs"]:
        _known_dataset(dataset, (), "pairs", file)
    known = _names_in(root / "config/experiments", "*.yaml")
    for experiment, part in lane.get("narrow", {}).items():
        _among(experiment, known, "narrow", file)
        whole = read_yaml(root / f"config/experiments/{experiment}.yaml", root)
        try:
            planning.check_part(whole, part, file, f"narrow.{experiment}.")
        except planning.EngineError as error:
            raise SettingsError(str(error)) from None
    return lane


def _experiment(name, real, root):
    file = f"config/experiments/{name}.yaml"
    experiment = read_yaml(root / file, root)
    check(experiment, "experiment", file)
    _among(experiment["id"], [name], "id", file)
    try:
        known = sorted(aligners.load())
    except aligners.ToolConfigError as error:
        raise SettingsError(str(error)) from None
    for tool in experiment["tools"]:
        _among(tool, known, "tools", file)
    _among(experiment["twin"], experiment["tools"], "twin", file)
    for dataset in experiment["datasets"]:
        _known_dataset(dataset, real, "datasets", file)
    return experiment


def _plan(experiment, lane, file):
    """What the race itself refuses of the two, such as penalties that no kernel holds, is told before any job."""
    try:
        planning.plan_of(experiment, lane, file)
    except planning.EngineError as error:
        raise SettingsError(str(error)) from None


def _known_dataset(dataset, real, key, file):
    uniform = UNIFORM.fullmatch(str(dataset))  # a key of YAML may be a number, or null
    if uniform and float(uniform["percent"]) <= 100:
        return
    _among(dataset, ["uniform_<length>_e<percent>", *real_data.TECHNOLOGIES, *real], key, file)
