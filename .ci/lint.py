"""Snakemake's lints, all but the environment one: what a rule needs is in requirements.lock, for every rule at once."""

import subprocess
import sys

ENVIRONMENT = "* Specify a conda environment or container for each rule.:"


def main():
    """Print what is left of the lints; exit code 1 when there is any, or when the workflow cannot be read."""
    answer = subprocess.run([sys.executable, "-m", "snakemake", "--lint", "text"], capture_output=True, text=True)
    lines = answer.stderr.splitlines()
    place, left = "", []
    for line in lines:
        if line.startswith("Lints for "):
            place = line
        elif line.strip().startswith("* ") and line.strip() != ENVIRONMENT:
            left.append(f"{place} {line.strip()}")
    if answer.returncode and not place:
        left = lines
    print("\n".join(left) or "snakemake --lint: nothing left but environments")
    return int(bool(left))


if __name__ == "__main__":
    sys.exit(main())
