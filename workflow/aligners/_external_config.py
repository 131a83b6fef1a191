"""config/external_tools.yaml, read and checked: every mistake is one message that names the file and the key."""

import re
import shlex
import string

import yaml

from workflow import strict_yaml
from workflow.aligners import ROOT, ToolConfigError

CONFIG = ROOT / "config/external_tools.yaml"
SCHEMA = ROOT / "workflow/schemas/external_tools.schema.yaml"

#: What a command may hold in braces: files, threads, and the job's penalties (gap_first = gap_open + gap_extend).
PLACEHOLDERS = ("input", "pattern", "text", "output", "threads", "mismatch", "gap_open", "gap_extend", "gap_first")
_INPUTS = {"seq": ("input",), "fasta": ("pattern", "text")}
#: Its samples would tell of one thread, and each of the processes on all cores would start threads of its own.
_CPU_THREADS = "must be 1 for a program of the CPU: it is raced as processes of one thread each, up to one a core"


def read(path=CONFIG):
    """The entries of a file of external tools, checked. Raises ToolConfigError naming the file and the key."""
    name = path.relative_to(ROOT).as_posix() if path.is_relative_to(ROOT) else str(path)
    if not path.exists():
        return []
    try:
        document = strict_yaml.read(path, name)
    except strict_yaml.YamlFileError as error:
        raise ToolConfigError(str(error)) from None
    if document == {"tools": []}:
        return []
    _check_schema(document, name)
    for number, entry in enumerate(document["tools"]):
        fault = _fault(entry, document["tools"][:number])
        if fault:
            raise ToolConfigError(f"{name}: key 'tools.{number}.{fault[0]}' {fault[1]}")
    return document["tools"]


def _check_schema(document, name):
    try:
        import jsonschema
    except ImportError:  # a bare host that only races: the workflow has checked the file elsewhere
        return
    schema = yaml.safe_load(SCHEMA.read_text(encoding="utf-8"))
    validator = jsonschema.Draft202012Validator(schema, format_checker=jsonschema.FormatChecker())
    fault = jsonschema.exceptions.best_match(validator.iter_errors(document))
    if fault is not None:
        where = ".".join(str(part) for part in fault.absolute_path)
        raise ToolConfigError(f"{name}: {f'key {where!r}' if where else 'the file'}: {fault.message}")


def _fault(entry, earlier):
    """(key, what is wrong) of an entry that fits the schema, or None."""
    if any((entry["name"], entry.get("variant")) == (other["name"], other.get("variant")) for other in earlier):
        return "name", f"gives {entry['name']!r} twice; a second one needs a variant of its own"
    if entry.get("device", "cpu") == "cpu" and entry.get("threads", 1) != 1:
        return "threads", _CPU_THREADS
    output = entry["output"]
    commands = {"command": entry["command"]} | {
        f"scope_arguments.{scope}": text for scope, text in entry.get("scope_arguments", {}).items()
    }
    used = set()
    for key, command in commands.items():
        try:
            shlex.split(command)
            fields = [part[1:] for part in string.Formatter().parse(command) if part[1] is not None]
        except ValueError as error:
            return key, f"cannot be read as a command: {error}"
        names = {name for name, _, _ in fields}
        if names - set(PLACEHOLDERS):
            return key, f"has unknown {{{min(names - set(PLACEHOLDERS))}}}; allowed are {', '.join(PLACEHOLDERS)}"
        if any(layout or conversion for _, layout, conversion in fields):
            return key, "may have no ':' or '!' between its braces, names alone"
        used |= names
    needed = [*_INPUTS[entry["input_format"]], *(["output"] if output["from"] == "file" else [])]
    for placeholder in needed:
        if placeholder not in used:
            return "command", f"lacks {{{placeholder}}}"
    given = output.get("columns") or re.compile(output["regex"]).groupindex
    for part in ("score", "cigar") if "cigar" in entry["scopes"] else ("score",):
        if part not in given:
            return "output", f"says nothing of where the {part} stands"
    return _version_fault(entry.get("version", {})) or _timer_fault(entry.get("time_from"))


def _version_fault(version):
    try:
        shlex.split(version.get("command", ""))
    except ValueError as error:
        return "version.command", f"cannot be read as a command: {error}"
    if "regex" in version and not re.compile(version["regex"]).groups:
        return "version.regex", "must have a group (...), which is the version"
    return None


def _timer_fault(timer):
    if timer and re.compile(timer["regex"]).groups != 1:
        return "time_from.regex", "must have one group (...), which is the time; (?:...) is none"
    return None
