"""YAML as a configuration needs it: a key that stands twice in one mapping is an error, not the last one's win."""

import yaml


class _Loader(yaml.SafeLoader):
    """PyYAML's safe loader that refuses duplicate keys."""

    def construct_mapping(self, node, deep=False):
        seen = set()
        for key_node, _ in node.value:
            if isinstance(key_node, yaml.ScalarNode):
                key = self.construct_object(key_node)
                if key in seen:
                    raise yaml.constructor.ConstructorError(
                        problem=f"key '{key}' stands twice", problem_mark=key_node.start_mark
                    )
                seen.add(key)
        return super().construct_mapping(node, deep)


class YamlFileError(ValueError):
    """A file that cannot be read as YAML: the message names it, and the line of the fault."""


def read(path, name=None):
    """The document in a file, as Python data. name: of the file in messages. Raises YamlFileError."""
    name = name or path
    try:
        with open(path, encoding="utf-8") as file:
            return load(file.read())
    except OSError as error:
        raise YamlFileError(f"{name}: cannot be read ({error.strerror})") from None
    except UnicodeDecodeError:
        raise YamlFileError(f"{name}: not a text file") from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f", line {mark.line + 1}" if mark else ""
        raise YamlFileError(f"{name}{line}: {getattr(error, 'problem', None) or 'not YAML'}") from None


def load(text):
    """The document in a text, as Python data. Raises yaml.YAMLError, with its line in problem_mark."""
    return yaml.load(text, _Loader)
