"""The plan of a race out of its two files: an experiment and a lane, checked by the engine itself.

A bare host that only races has no jsonschema; what the workflow checks by schema is checked here once more, as far as
the race uses it.
"""

import math

from wfa_kernels import Affine, Edit, PenaltyError
from workflow import strict_yaml
from workflow.race.cells import Plan
from workflow.race.host import is_name, usable_cores

#: What the names of real data sets begin with, which stand for their technology in an experiment.
REAL = "real_"


class EngineError(ValueError):
    """A request the engine cannot serve: the message names the file and the key, and what is allowed."""


def load_yaml(path):
    """The mapping a YAML file holds. Raises EngineError."""
    try:
        content = strict_yaml.read(path)
    except strict_yaml.YamlFileError as error:
        raise EngineError(str(error)) from None
    if not isinstance(content, dict):
        raise EngineError(f"{path}: must hold a mapping of keys")
    return content


def _is_list_of(allowed):
    return lambda value: isinstance(value, list) and value and all(_among(v, allowed) for v in value)


def _among(value, allowed):
    return not isinstance(value, bool | float) and value in allowed


def _are_names(value):
    return _are_names_or_none(value) and value


def _are_names_or_none(value):
    return isinstance(value, list) and all(isinstance(v, str) for v in value)


def _is_seconds(value):
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < math.inf


def _are_rounds(value):
    if not isinstance(value, dict) or set(value) != {"min", "max"}:
        return False
    return all(type(v) is int for v in value.values()) and 5 <= value["min"] <= value["max"]


def _are_narrowings(value):
    return isinstance(value, dict) and all(isinstance(part, dict) for part in value.values())


#: Key -> (whether its value will do, what is allowed).
_NARROWED = {
    "scopes": (_is_list_of(("score", "cigar")), "a list of: score, cigar"),
    "threads": (_is_list_of((1, "all")), "a list of: 1, all"),
    "datasets": (_are_names, "a list of names of data sets"),
}
#: Of a lane's narrowing: no data set leaves the experiment out.
_LEFT_OUT = {
    "datasets": (_are_names_or_none, "a list of names of data sets, or []"),
    "without": (_are_names, "a list of ids of tools"),
}
_EXPERIMENT = {
    "id": (is_name, "a name of letters, digits, '_', '.' and '-'"),
    "penalties": (lambda value: True, ""),
    **_NARROWED,
    "tools": (_are_names, "a list of ids of tools"),
    "twin": (lambda value: isinstance(value, str), "the id of a tool"),
}
_LANE = {
    "name": (is_name, "a name of letters, digits, '_', '.' and '-'"),
    "rounds": (_are_rounds, "{min, max}, whole numbers, 5 <= min <= max"),
    "round_seconds": (_is_seconds, "a number of seconds > 0"),
    "race_seconds": (_is_seconds, "a number of seconds > 0"),
    "timeout_seconds": (_is_seconds, "a number of seconds > 0"),
}
#: Of an experiment and of a lane, where they are there.
_EXPERIMENT_MAY = {"most_pairs": (lambda value: type(value) is int and value >= 1, "a whole number >= 1")}
_LANE_MAY = {
    "gpu_round_seconds": (_is_seconds, "a number of seconds > 0"),
    "narrow": (_are_narrowings, f"{{experiment: a mapping with some of: {', '.join(_NARROWED | _LEFT_OUT)}}}"),
}
#: Keys that the workflow reads besides.
_EXPERIMENT_BESIDES = ("title", "needs")
_LANE_BESIDES = ("pairs", "real_pairs")


def _check(content, keys, path, besides=(), within="", may=None):
    """may: like keys, but they may be missing."""
    may = may or {}
    _require_known(content, [*keys, *may, *besides], path, within)
    for key, (good, allowed) in (keys | {key: may[key] for key in may if key in content}).items():
        if key not in content:
            raise EngineError(f"{path}: key '{within}{key}' is missing")
        if not good(content[key]):
            raise EngineError(f"{path}: key '{within}{key}' must be {allowed}, not {content[key]!r}")


def _require_known(content, allowed, path, within=""):
    for key in content:
        if key not in allowed:
            raise EngineError(f"{path}: unknown key '{within}{key}'; allowed are {', '.join(allowed)}")


def load_experiment(path):
    """An experiment's file as a dict, with the keys that a race needs. Raises EngineError."""
    experiment = load_yaml(path)
    _check(experiment, _EXPERIMENT, path, _EXPERIMENT_BESIDES, may=_EXPERIMENT_MAY)
    return experiment


def make_plan(experiment_path, lane_path, known_tools):
    """The Plan of an experiment under a lane. Raises EngineError naming file and key."""
    experiment, lane = load_experiment(experiment_path), load_yaml(lane_path)
    _check(lane, _LANE, lane_path, _LANE_BESIDES, may=_LANE_MAY)
    for tool in [*experiment["tools"], experiment["twin"]]:
        if tool not in known_tools:
            allowed = ", ".join(sorted(known_tools))
            raise EngineError(f"{experiment_path}: key 'tools' has unknown {tool!r} (known are {allowed})")
    if experiment["twin"] not in experiment["tools"]:
        allowed = ", ".join(experiment["tools"])
        raise EngineError(
            f"{experiment_path}: key 'twin' must be one of its tools ({allowed}), not {experiment['twin']!r}"
        )
    narrow = lane.get("narrow", {}).get(experiment["id"], {})
    within, rules = f"narrow.{experiment['id']}.", _NARROWED | _LEFT_OUT
    _require_known(narrow, rules, lane_path, within)
    _check(narrow, {key: rule for key, rule in rules.items() if key in narrow}, lane_path, within=within)
    check_part(experiment, narrow, lane_path, within)
    return plan_of(experiment, lane, experiment_path)


def check_part(experiment, part, path, within):
    """Raise EngineError where what a lane narrows an experiment to, both dicts, is none of it, or leaves its twin out.

    path: the lane's. within: the key of the part, for messages.
    """
    for key, values in part.items():
        allowed = experiment.get(key, [tool for tool in experiment.get("tools", []) if tool != experiment.get("twin")])
        for value in values:
            if value not in allowed:
                names = ", ".join(map(str, allowed))
                raise EngineError(f"{path}: key '{within}{key}' has unknown value '{value}'; allowed are {names}")


def is_real(dataset):
    """Whether the data set of that name is of mapped reads."""
    return dataset.startswith(REAL)


def narrowed(experiment, lane):
    """The experiment, a dict, with what the lane narrows of it: data sets, scopes, threads, and the tools left out."""
    part = dict(lane.get("narrow", {}).get(experiment["id"], {}))
    without = part.pop("without", ())
    return {**experiment, **part, "tools": [tool for tool in experiment["tools"] if tool not in without]}


def thread_counts(experiment):
    """Numbers of threads that this machine runs an experiment on, each once. experiment: a dict."""
    return tuple(dict.fromkeys(usable_cores() if t == "all" else t for t in experiment["threads"]))


def plan_of(experiment, lane, path):
    """The Plan of a checked experiment under a checked lane, both as dicts. path: of the experiment, for messages.

    Raises EngineError for bad penalties.
    """
    part = narrowed(experiment, lane)
    return Plan(
        experiment=experiment["id"],
        lane=lane["name"],
        penalties=_penalties(experiment["penalties"], path),
        scopes=tuple(part["scopes"]),
        threads=thread_counts(part),
        tools=tuple(dict.fromkeys(part["tools"])),
        twin=experiment["twin"],
        min_rounds=lane["rounds"]["min"],
        max_rounds=lane["rounds"]["max"],
        round_seconds=lane["round_seconds"],
        gpu_round_seconds=lane.get("gpu_round_seconds", lane["round_seconds"]),
        race_seconds=lane["race_seconds"],
        timeout_seconds=lane["timeout_seconds"],
        most_pairs=experiment.get("most_pairs"),
    )


def _penalties(value, path):
    if value == "edit":
        return Edit()
    if not isinstance(value, list) or len(value) != 3:
        raise EngineError(
            f"{path}: key 'penalties' must be edit, or [mismatch >= 1, gap_open >= 0, gap_extend >= 1], not {value!r}"
        )
    try:
        return Affine(*value)
    except PenaltyError as error:
        raise EngineError(f"{path}: key 'penalties': {error}") from None
