# The lanes of the checkout: what they give a tool now.
LANE_FILES = sorted(str(path) for path in Path("config/lanes").glob("*.yaml"))


# One row a race and tool: medians and intervals of what was measured here, and of the recorded hosts. A file an
# experiment, so that a table waits for its own races alone, and one of everything for the report.
rule collect:
    input:
        samples=lambda wildcards: samples_of(wildcards.experiment),
        lanes=LANE_FILES,
        modules=sources.closure("workflow/scripts/collect.py"),
    output:
        "results/collected/{experiment}.parquet",
    log:
        "results/logs/collect/{experiment}.log",
    wildcard_constraints:
        experiment="|".join(SETTINGS.experiments),
    params:
        marks=MARKS,
        host=HOST,
    shell:
        "logged {log} python -m workflow.scripts.collect --samples results/samples --recorded results/recorded"
        " --host {params.host}"
        " --experiment {wildcards.experiment} --out {output}"


rule collect_all:
    input:
        samples=all_sample_files() + other_sample_files() + recorded_files(),
        lanes=LANE_FILES,
        modules=sources.closure("workflow/scripts/collect.py"),
    output:
        MEASUREMENTS,
    log:
        "results/logs/collect/measurements.log",
    params:
        marks=MARKS,
        host=HOST,
    shell:
        "logged {log} python -m workflow.scripts.collect --samples results/samples --recorded results/recorded"
        " --host {params.host}"
        " --out {output}"
