# One job an experiment: its tools side by side on one data set after the other. Nothing runs beside a race. The
# engine keeps finished races in results/store, so that an interrupted job resumes where it stopped.
for experiment in SETTINGS.experiments:
    if not SETTINGS.datasets(experiment):
        continue

    rule:
        name:
            f"race_{experiment}"
        input:
            pairs=pair_files(experiment),
            experiment=f"config/experiments/{experiment}.yaml",
            lane=f"config/lanes/{LANE}.yaml",
            tools=SETTINGS.tool_files(experiment),
        output:
            sample_files(experiment),
        log:
            f"results/logs/race/{LANE}/{experiment}.log",
        threads: workflow.cores
        resources:
            race=1,
        params:
            data=lambda wildcards, input: os.path.dirname(input.pairs[0]),
            out=lambda wildcards, output: os.path.dirname(output[0]),
            datasets=",".join(SETTINGS.datasets(experiment)),
            host=HOST,
            tools=SETTINGS.tool_versions(experiment),
            conditions=provenance.conditions(),
            runtime=provenance.runtime(),
        shell:
            "python -m workflow.race run --experiment {input.experiment} --lane {input.lane} --data {params.data}"
            " --datasets {params.datasets} --host {params.host} --store results/store --out {params.out}"
            " 2>&1 | tee {log}"
