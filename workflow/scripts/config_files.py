"""One YAML file of the configuration: read, and checked against its schema."""

import math
from functools import cache
from pathlib import Path

import jsonschema

from workflow import strict_yaml

ROOT = Path(__file__).resolve().parents[2]


class SettingsError(ValueError):
    """A mistake in the configuration; the text is all that the user needs to mend it."""


def read_yaml(path, root=ROOT):
    """The YAML file as Python data.

    Raises SettingsError naming the file, and the line of a syntax error or of a key that stands twice.
    """
    path = Path(path)
    name = str(path.relative_to(root) if path.is_relative_to(root) else path)
    try:
        return strict_yaml.read(path, name)
    except strict_yaml.YamlFileError as error:
        raise SettingsError(str(error)) from None


def read(path, schema):
    """The YAML file as Python data that fits workflow/schemas/<schema>.schema.yaml. Raises SettingsError."""
    data = read_yaml(path)
    check(data, schema, path)
    return data


def check(data, schema, name):
    """Check data against workflow/schemas/<schema>.schema.yaml. Raises SettingsError for the first fault."""
    found = sorted(_validator(schema).iter_errors(data), key=lambda error: [str(part) for part in error.absolute_path])
    if found:
        raise SettingsError(f"{name}: {_explain(found[0])}")


def _is_finite_number(_checker, value):
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _is_whole_number(_checker, value):
    return isinstance(value, int) and not isinstance(value, bool)


#: YAML's .nan and .inf are no numbers to the schemas, and 4.0, which is an integer to JSON's, is none to a race.
_STRICT = jsonschema.validators.extend(
    jsonschema.Draft202012Validator,
    type_checker=jsonschema.Draft202012Validator.TYPE_CHECKER.redefine_many(
        {"number": _is_finite_number, "integer": _is_whole_number}
    ),
)


@cache
def _validator(schema):
    path = ROOT / "workflow/schemas" / f"{schema}.schema.yaml"
    return _STRICT(strict_yaml.load(path.read_text(encoding="utf-8")))


def _explain(error):
    """One fault of the schema in words: the key, what is wrong with it, what is allowed."""
    key = ".".join(str(part) for part in error.absolute_path)
    if error.validator == "additionalProperties":
        allowed = sorted(error.schema["properties"])
        unknown = sorted(str(name) for name in error.instance if name not in error.schema["properties"])
        where = f" in '{key}'" if key else ""
        return f"unknown key '{unknown[0]}'{where}; allowed are {', '.join(allowed)}"
    if error.validator == "required":
        missing = [name for name in error.validator_value if name not in error.instance]
        where = f" in '{key}'" if key else ""
        return f"key '{missing[0]}' is missing{where}"
    if not key:
        return f"must be a mapping of keys to values, not {_kind(error.instance)}"
    wanted = error.schema.get("description") or error.schema.get("type") or error.message
    wanted = (
        f"a list of names ({wanted})" if error.schema.get("type") == "array" and error.validator == "type" else wanted
    )
    twice = "; nothing may stand twice" if error.validator == "uniqueItems" else ""
    return f"key '{key}' must be {wanted}, not {error.instance!r} ({_kind(error.instance)}){twice}"


def _kind(value):
    if isinstance(value, float) and not math.isfinite(value):
        return "not a finite number"
    names = {
        dict: "a mapping",
        list: "a list",
        str: "text",
        bool: "true/false",
        int: "a whole number",
        float: "a number",
    }
    return "empty" if value is None else names.get(type(value), type(value).__name__)
