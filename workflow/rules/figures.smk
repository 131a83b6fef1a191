# A figure computed from the algorithms alone.
rule computed_figure:
    input:
        lambda wildcards: sources.closure(
            f"workflow/scripts/figures/{wildcards.figure}.py"
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
        figure="(?!thesis_fig(7|10)[.]|cpu_)[^/.]+",
    params:
        caption=lambda wildcards: caption(wildcards.figure),
        out=lambda wildcards, output: os.path.splitext(output[0])[0],
    shell:
        "logged {log} python -m workflow.scripts.figures.{wildcards.figure} --out {params.out}"


# Speed-up of our aligners over each tool, a panel per host: from the samples, as collected rows hold no rounds.
rule thesis_fig10:
    input:
        experiment="config/experiments/thesis_tab9.yaml",
        modules=sources.closure("workflow/scripts/figures/thesis_fig10.py"),
        samples=samples_of(settings.NEEDS["thesis_fig10"]),
        paper="config/papers/thesis_tab9.csv",
        real_data=SETTINGS.config["real_data"],
    output:
        report(
            "results/figures/thesis_fig10.svg",
            caption="../report/figure.rst",
            category="Figures",
            labels={"figure": "thesis_fig10"},
        ),
        "results/figures/thesis_fig10.png",
    log:
        "results/logs/figures/thesis_fig10.log",
    params:
        marks=MARKS,
        caption=caption("thesis_fig10"),
        host=HOST,
        out=lambda wildcards, output: os.path.splitext(output[0])[0],
    shell:
        "logged {log} python -m workflow.scripts.figures.thesis_fig10 {input.samples:q} --paper {input.paper}"
        " --real-data {input.real_data} --host {params.host} --out {params.out}"


# Copies, kernels and total time against the nominal errors: sums taken round by round, so from the samples.
rule thesis_fig7:
    input:
        modules=sources.closure("workflow/scripts/figures/thesis_fig7.py"),
        samples=samples_of("thesis_fig7"),
    output:
        report(
            "results/figures/thesis_fig7.svg",
            caption="../report/figure.rst",
            category="Figures",
            labels={"figure": "thesis_fig7"},
        ),
        "results/figures/thesis_fig7.png",
    log:
        "results/logs/figures/thesis_fig7.log",
    params:
        marks=MARKS,
        caption=caption("thesis_fig7"),
        host=HOST,
        out=lambda wildcards, output: os.path.splitext(output[0])[0],
    shell:
        "logged {log} python -m workflow.scripts.figures.thesis_fig7 {input.samples:q} --host {params.host}"
        " --out {params.out}"


# Our CPU kernels over the fastest peer of each cell: ratios taken round by round, so from the samples.
rule cpu_ratio_figure:
    input:
        modules=sources.closure("workflow/scripts/figures/cpu_ratio.py"),
        samples=cpu_samples(),
        experiments=CPU_EXPERIMENTS,
        lane=f"config/lanes/{LANE}.yaml",
        targets="config/targets/cpu_ratio.csv",
    output:
        report(
            "results/figures/cpu_ratio.svg",
            caption="../report/figure.rst",
            category="Figures",
            labels={"figure": "cpu_ratio"},
        ),
        "results/figures/cpu_ratio.png",
    log:
        "results/logs/figures/cpu_ratio.log",
    params:
        marks=MARKS,
        caption=caption("cpu_ratio"),
        host=HOST,
        configs=[f"--config={path}" for path in CPU_EXPERIMENTS],
        out=lambda wildcards, output: os.path.splitext(output[0])[0],
    shell:
        "logged {log} python -m workflow.scripts.figures.cpu_ratio {input.samples:q} --targets {input.targets} {params.configs}"
        " --lane {input.lane} --host {params.host} --out {params.out}"


# The other figures of the CPU page, from the samples of the same races.
rule cpu_figure:
    input:
        modules=lambda wildcards: sources.closure(
            f"workflow/scripts/figures/{wildcards.figure}.py"
        ),
        samples=cpu_samples(),
        experiments=CPU_EXPERIMENTS,
        lane=f"config/lanes/{LANE}.yaml",
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
        figure="cpu_(regret|error|length|memory)",
    params:
        marks=MARKS,
        caption=lambda wildcards: caption(wildcards.figure),
        host=HOST,
        configs=[f"--config={path}" for path in CPU_EXPERIMENTS],
        out=lambda wildcards, output: os.path.splitext(output[0])[0],
    shell:
        "logged {log} python -m workflow.scripts.figures.{wildcards.figure} {input.samples:q} {params.configs}"
        " --lane {input.lane} --host {params.host} --out {params.out}"
