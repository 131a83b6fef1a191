# Data sets: simulated, or mapped from the user's reads.
rule simulate:
    input:
        sources.closure("simulators/__main__.py"),
    output:
        f"{DATA}/{{dataset}}.arrow",
    log:
        f"results/logs/simulate/{LANE}/{{dataset}}.log",
    wildcard_constraints:
        dataset=f"(?!{planning.REAL})[^/]+",
    threads: workflow.cores
    params:
        arguments=lambda wildcards: SETTINGS.simulator_arguments(wildcards.dataset),
    shell:
        "logged {log} python -m simulators {params.arguments} --threads {threads} -o {output}"


rule map:
    input:
        sources.closure("workflow/scripts/map_reads.py", "workflow/scripts/fetch.py"),
        lambda wildcards: SETTINGS.real_files(wildcards.name),
    output:
        pairs=f"{DATA}/{planning.REAL}{{name}}.arrow",
        report=f"{DATA}/{planning.REAL}{{name}}.json",
    log:
        f"results/logs/map/{LANE}/{{name}}.log",
    # Reads that do not fit their row are told before an hour of races.
    priority: 1
    threads: workflow.cores
    params:
        row=lambda wildcards: SETTINGS.real_fields(wildcards.name),
        cap=SETTINGS.lane["real_pairs"],
        seed=SETTINGS.config["seed"],
    shell:
        """
        exec 3>&2 2>{log}
        trap '[ $? -eq 0 ] || cat {log} >&3' EXIT
        reads=$(python -m workflow.scripts.fetch {params.row[reads]:q} --sha256={params.row[reads_sha256]:q})
        reference=$(python -m workflow.scripts.fetch {params.row[reference]:q} \
            --sha256={params.row[reference_sha256]:q})
        python -m workflow.scripts.map_reads --reads "$reads" --reference "$reference" \
            --technology {params.row[technology]} --preset {params.row[preset]} --name {wildcards.name} \
            --cap {params.cap} --seed {params.seed} --threads {threads} -o {output.pairs} --report {output.report}
        """
