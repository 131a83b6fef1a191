# What other programs took outside the race: external rows.
PEERS = sorted(str(path) for path in Path("config/peers").glob("*.yaml"))


# The table of an experiment without a file of the paper's numbers is not a measured_table.
ruleorder: ewfa_tab4 > measured_table


# A table of times: the paper's numbers, recorded hosts, this host. It has the name of its experiment.
rule measured_table:
    input:
        modules=lambda wildcards: sources.closure(
            f"workflow/scripts/tables/{wildcards.table}.py"
        ),
        measurements="results/collected/{table}.parquet",
        races=lambda wildcards: samples_of(wildcards.table),
        paper="config/papers/{table}.csv",
        peers=PEERS,
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
        peers=lambda wildcards, input: [f"--peer={path}" for path in input.peers],
        unmapped=SETTINGS.unmapped,
        out=lambda wildcards, output: os.path.splitext(output[0])[0],
    shell:
        "logged {log} python -m workflow.scripts.tables.{wildcards.table} {input.races:q} --measurements {input.measurements}"
        " --paper {input.paper} {params.peers} --config {input.experiment} --lane {input.lane}"
        " --real-data {input.real_data} --unmapped={params.unmapped:q} --out {params.out}"


# Properties of the GPUs of every host with a race of table 1, from the races' host cards.
rule thesis_tab2:
    input:
        modules=sources.closure("workflow/scripts/tables/thesis_tab2.py"),
        samples=samples_of(settings.NEEDS["thesis_tab2"]),
        paper="config/papers/thesis_tab2.csv",
        gpus="config/gpus.csv",
    output:
        "results/tables/thesis_tab2.csv",
        "results/tables/thesis_tab2.md",
        report(
            "results/tables/thesis_tab2.html",
            caption="../report/table.rst",
            category="Tables",
            labels={"table": "thesis_tab2"},
        ),
        "results/tables/thesis_tab2.tidy.csv",
    log:
        "results/logs/tables/thesis_tab2.log",
    params:
        host=HOST,
        out=lambda wildcards, output: os.path.splitext(output[0])[0],
    shell:
        "logged {log} python -m workflow.scripts.tables.thesis_tab2 {input.samples:q} --paper {input.paper}"
        " --gpus {input.gpus} --host {params.host} --out {params.out}"


# eWFA-GPU's design on every device that has raced table 1, beside the thesis' devices.
rule thesis_tab3:
    input:
        modules=sources.closure("workflow/scripts/tables/thesis_tab3.py"),
        measurements=f"results/collected/{settings.NEEDS['thesis_tab3']}.parquet",
        races=samples_of(settings.NEEDS["thesis_tab3"]),
        paper="config/papers/thesis_tab3.csv",
        peers=PEERS,
        experiment=f"config/experiments/{settings.NEEDS['thesis_tab3']}.yaml",
        lane=f"config/lanes/{LANE}.yaml",
    output:
        "results/tables/thesis_tab3.csv",
        "results/tables/thesis_tab3.md",
        report(
            "results/tables/thesis_tab3.html",
            caption="../report/table.rst",
            category="Tables",
            labels={"table": "thesis_tab3"},
        ),
        "results/tables/thesis_tab3.tidy.csv",
    log:
        "results/logs/tables/thesis_tab3.log",
    params:
        peers=[f"--peer={path}" for path in PEERS],
        out=lambda wildcards, output: os.path.splitext(output[0])[0],
    shell:
        "logged {log} python -m workflow.scripts.tables.thesis_tab3 {input.races:q} --measurements {input.measurements}"
        " --paper {input.paper} {params.peers} --config {input.experiment} --lane {input.lane}"
        " --out {params.out}"


# Threads per block of eWFA-GPU's design: without the paper's numbers, which are lost.
rule ewfa_tab4:
    input:
        modules=sources.closure("workflow/scripts/tables/ewfa_tab4.py"),
        measurements="results/collected/ewfa_tab4.parquet",
        experiment="config/experiments/ewfa_tab4.yaml",
        lane=f"config/lanes/{LANE}.yaml",
    output:
        "results/tables/ewfa_tab4.csv",
        "results/tables/ewfa_tab4.md",
        report(
            "results/tables/ewfa_tab4.html",
            caption="../report/table.rst",
            category="Tables",
            labels={"table": "ewfa_tab4"},
        ),
        "results/tables/ewfa_tab4.tidy.csv",
    log:
        "results/logs/tables/ewfa_tab4.log",
    params:
        out=lambda wildcards, output: os.path.splitext(output[0])[0],
    shell:
        "logged {log} python -m workflow.scripts.tables.ewfa_tab4 --measurements {input.measurements}"
        " --config {input.experiment} --lane {input.lane} --out {params.out}"


# The best rates over table 1's data sets, beside those of the literature.
rule thesis_tab6:
    input:
        modules=sources.closure("workflow/scripts/tables/thesis_tab6.py"),
        measurements=f"results/collected/{settings.NEEDS['thesis_tab6']}.parquet",
        paper="config/papers/thesis_tab6.csv",
        experiment=f"config/experiments/{settings.NEEDS['thesis_tab6']}.yaml",
        lane=f"config/lanes/{LANE}.yaml",
    output:
        "results/tables/thesis_tab6.csv",
        "results/tables/thesis_tab6.md",
        report(
            "results/tables/thesis_tab6.html",
            caption="../report/table.rst",
            category="Tables",
            labels={"table": "thesis_tab6"},
        ),
        "results/tables/thesis_tab6.tidy.csv",
    log:
        "results/logs/tables/thesis_tab6.log",
    params:
        out=lambda wildcards, output: os.path.splitext(output[0])[0],
    shell:
        "logged {log} python -m workflow.scripts.tables.thesis_tab6 --measurements {input.measurements} --paper {input.paper}"
        " --config {input.experiment} --lane {input.lane} --out {params.out}"


# The data sets of the six technologies, as they are in use.
rule thesis_tab7:
    input:
        modules=sources.closure("workflow/scripts/tables/thesis_tab7.py"),
        pairs=lambda wildcards: pair_files(settings.NEEDS["thesis_tab7"]),
        recorded=recorded_files(settings.NEEDS["thesis_tab7"]),
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
        unmapped=SETTINGS.unmapped,
        out=lambda wildcards, output: os.path.splitext(output[0])[0],
    shell:
        "logged {log} python -m workflow.scripts.tables.thesis_tab7 {input.recorded} --data {params.data} --paper {input.paper}"
        " --lane {input.lane} --real-data {input.real_data} --unmapped={params.unmapped:q}"
        " --out {params.out}"


# Our CPU kernels over the fastest peer, from the races of edit distance and of gap-affine alignment.
rule cpu_ratio:
    input:
        modules=sources.closure("workflow/scripts/tables/cpu_ratio.py"),
        samples=cpu_samples(),
        experiments=CPU_EXPERIMENTS,
        lane=f"config/lanes/{LANE}.yaml",
        targets="config/targets/cpu_ratio.csv",
    output:
        "results/tables/cpu_ratio.csv",
        "results/tables/cpu_ratio.md",
        report(
            "results/tables/cpu_ratio.html",
            caption="../report/table.rst",
            category="Tables",
            labels={"table": "cpu_ratio"},
        ),
        "results/tables/cpu_ratio.tidy.csv",
    log:
        "results/logs/tables/cpu_ratio.log",
    params:
        marks=MARKS,
        host=HOST,
        configs=[f"--config={path}" for path in CPU_EXPERIMENTS],
        out=lambda wildcards, output: os.path.splitext(output[0])[0],
    shell:
        "logged {log} python -m workflow.scripts.tables.cpu_ratio {input.samples:q} --targets {input.targets} {params.configs}"
        " --lane {input.lane} --host {params.host} --out {params.out}"
