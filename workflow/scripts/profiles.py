"""Profiles as workflow.profile writes them: read, and one for each host."""

import json
import textwrap
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from workflow.profile import layout, watched
from workflow.scripts.format_numbers import short_commit


class ProfileFileError(ValueError):
    """A file that is no profile: the message names it."""


@dataclass(frozen=True)
class Profile:
    """What was read on one host. source: "recorded" | "here". content: the file's JSON."""

    source: str
    content: dict

    @property
    def host(self):
        """Id of the host."""
        return self.content["host"]

    @cached_property  # every source of the GPU's side is read for it
    def doubt(self):
        """``stale`` where the kernels' sources have changed since, ``of unknown sources`` where it does not tell them;
        "" where they are this checkout's."""
        told = self.content.get("tool_source_hashes")
        if told is None:
            return "of unknown sources"
        return "stale" if told != watched.source_hashes(self.content["kind"]) else ""

    @property
    def where(self):
        """The host as a column or a panel names it."""
        return f"{'this host' if self.source == 'here' else 'recorded'}: {self.host}"

    @property
    def gpu(self):
        """Name of its first GPU, "" where the card does not tell."""
        return (self.content["host_card"].get("gpus") or [{}])[0].get("name", "")

    @property
    def provenance(self):
        """A sentence: when it was read, from which commit, and its doubt."""
        begin = "Read on this host" if self.source == "here" else "Recorded on"
        day, commit = self.content["time_utc"][:10], short_commit(self.content["commit"])
        doubt = f" ({self.doubt})" if self.doubt else ""
        return f"{begin} {self.host} ({self.gpu or 'GPU not named'}) on {day}, commit {commit}{doubt}."


def files(kind, here, made, results="results"):
    """Paths of the profiles to draw from: the recorded ones, and this host's (id ``here``) if there is one.

    made: this run makes this host's, so that it counts though it is not there yet.
    """
    own = Path(results, "profile", here, f"{kind}.json")
    recorded = Path(results, "recorded").glob(f"*/profile/{kind}.json")
    return sorted(map(str, {*recorded, *([own] if made or own.exists() else [])}))


def read(path, kind):
    """The JSON of one file. kind: one of layout.KINDS. Raises ProfileFileError."""
    try:
        with open(path, encoding="utf-8") as text:
            content = json.load(text)
    except (OSError, ValueError) as error:
        raise ProfileFileError(f"{path}: cannot be read as a profile ({error})") from None
    fault = layout.fault(content, kind)
    if fault:
        raise ProfileFileError(f"{path}: {fault}")
    return content


def of_hosts(files, here, kind):
    """One Profile a host, the newest: the recorded ones by name, then this one's. Raises ProfileFileError."""
    found = {}
    for content in sorted((read(path, kind) for path in files), key=lambda content: content["time_utc"]):
        source = "here" if content["host"] == here else "recorded"
        found[content["host"]] = Profile(source, content)
    return sorted(found.values(), key=lambda profile: (profile.source == "here", profile.host))


def absent(profiles, here):
    """Why there is none of this host, whose id is ``here``; "" where there is one."""
    if any(profile.source == "here" for profile in profiles):
        return ""
    return f"not profiled on {here}: needs an NVIDIA GPU"


def footnote(profiles, here):
    """Lines below a figure: where and when each was read, and why there is none of this host."""
    why = absent(profiles, here)
    told = [profile.provenance for profile in profiles] + ([f"{why[0].upper()}{why[1:]}."] if why else [])
    return "\n".join(line for sentence in told for line in textwrap.wrap(sentence, 60))
