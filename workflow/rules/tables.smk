# A table of times: the paper's numbers, recorded hosts, this host. It has the name of its experiment.
rule measured_table:
    input:
        modules=lambda wildcards: sources.closure(
            f"workflow/scripts/tables/{wildcards.table}.py"
        ),
        measurements="results/collected/{table}.parquet",
        paper="config/papers/{table}.csv",
        experiment="config/experiments/{table}.yaml",
        lane=f"config/lanes/{LANE}.yaml",
        real_data=SETTINGS.config["real_data"],
    output:
        "results/tables/{table}.csv",
        "results/tables/{table}.md",
        report(
            "results/tables/{table}.html",
            caption="../report/table.rst",
            category="Tables",
            labels={"table": "{table}"},
        ),
        "results/tables/{table}.tidy.csv",
    log:
        "results/logs/tables/{table}.log",
    wildcard_constraints:
        table="|".join(SETTINGS.experiments),
    params:
        out=lambda wildcards, output: os.path.splitext(output[0])[0],
    shell:
        "python -m workflow.scripts.tables.{wildcards.table} --measurements {input.measurements}"
        " --paper {input.paper} --config {input.experiment} --lane {input.lane} --real-data {input.real_data}"
        " --out {params.out} 2> {log}"


# The data sets of the six technologies, as they are in use.
rule thesis_tab7:
    input:
        modules=sources.closure("workflow/scripts/tables/thesis_tab7.py"),
        pairs=lambda wildcards: pair_files(settings.NEEDS["thesis_tab7"]),
        paper="config/papers/thesis_tab7.csv",
        lane=f"config/lanes/{LANE}.yaml",
        real_data=SETTINGS.config["real_data"],
    output:
        "results/tables/thesis_tab7.csv",
        "results/tables/thesis_tab7.md",
        report(
            "results/tables/thesis_tab7.html",
            caption="../report/table.rst",
            category="Tables",
            labels={"table": "thesis_tab7"},
        ),
        "results/tables/thesis_tab7.tidy.csv",
    log:
        "results/logs/tables/thesis_tab7.log",
    params:
        data=DATA,
        out=lambda wildcards, output: os.path.splitext(output[0])[0],
    shell:
        "python -m workflow.scripts.tables.thesis_tab7 --data {params.data} --paper {input.paper}"
        " --lane {input.lane} --real-data {input.real_data} --out {params.out} 2> {log}"
