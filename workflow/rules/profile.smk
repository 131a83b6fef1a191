# What is read from a GPU itself, where there is one; tables and figures are drawn from recorded profiles, too.
from wfa_kernels import gpu_problem
from workflow.profile import watched
from workflow.scripts import profiles

CAN_PROFILE = bool(host.gpus()) and gpu_problem() is None
KERNEL_PROFILES = profiles.files("kernels", HOST, CAN_PROFILE)
#: Figure -> the kind of profile that it is drawn from.
PROFILE_OF = {"thesis_fig6": "timeline", "gpu_occupancy": "occupancy"}

if CAN_PROFILE:

    # ncu, where it is installed, adds the counters; what it cannot give has its reason in the file.
    rule profile:
        input:
            sources.closure("workflow/profile/__main__.py"),
        output:
            f"results/profile/{HOST}/{{kind}}.json",
        log:
            f"results/logs/profile/{HOST}/{{kind}}.log",
        wildcard_constraints:
            kind="kernels|timeline|occupancy",
        threads: workflow.cores
        resources:
            race=1,
        params:
            host=HOST,
        shell:
            "logged {log} python -m workflow.profile {wildcards.kind} --data results/data/profile --host {params.host}"
            " --out {output}"


# Metrics of the papers' kernels beside the papers' own.
rule kernel_table:
    input:
        modules=lambda wildcards: sources.closure(
            f"workflow/scripts/tables/{wildcards.table}.py"
        ),
        profiles=KERNEL_PROFILES,
        paper="config/papers/{table}.csv",
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
        table="thesis_tab4|thesis_tab5",
    params:
        host=HOST,
        sources=lambda wildcards: watched.source_hashes("kernels"),
        out=lambda wildcards, output: os.path.splitext(output[0])[0],
    shell:
        "logged {log} python -m workflow.scripts.tables.{wildcards.table} {input.profiles} --paper {input.paper}"
        " --host {params.host} --out {params.out}"


# When copies and kernels of a call ran; how busy the GPU was.
rule profile_figure:
    input:
        modules=lambda wildcards: sources.closure(
            f"workflow/scripts/figures/{wildcards.figure}.py"
        ),
        profiles=lambda wildcards: profiles.files(
            PROFILE_OF[wildcards.figure], HOST, CAN_PROFILE
        ),
    output:
        report(
            "results/figures/{figure}.svg",
            caption="../report/figure.rst",
            category="Figures",
            labels={"figure": "{figure}"},
        ),
        "results/figures/{figure}.png",
    log:
        "results/logs/figures/{figure}.log",
    wildcard_constraints:
        figure="|".join(PROFILE_OF),
    params:
        caption=lambda wildcards: caption(wildcards.figure),
        host=HOST,
        sources=lambda wildcards: watched.source_hashes(PROFILE_OF[wildcards.figure]),
        out=lambda wildcards, output: os.path.splitext(output[0])[0],
    shell:
        "logged {log} python -m workflow.scripts.figures.{wildcards.figure} {input.profiles} --host {params.host}"
        " --out {params.out}"


ruleorder: profile_figure > computed_figure
