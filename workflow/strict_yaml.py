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


def load(text):
    """The document in a text, as Python data. Raises yaml.YAMLError, with its line in problem_mark."""
    return yaml.load(text, _Loader)
