# One offline page of everything.
rule report:
    input:
        experiments=sorted(
            str(path) for path in Path("config/experiments").glob("*.yaml")
        ),
        tables=TABLES,
        figures=FIGURES,
        ledger=LEDGER,
        measurements=MEASUREMENTS,
        aliases="config/aliases.yaml",
        template="workflow/report/template.html.j2",
        captions=[
            path
            for id_ in SETTINGS.config["tables"] + SETTINGS.config["figures"]
            if os.path.exists(path := f"workflow/report/captions/{id_}.rst")
        ],
        modules=sources.closure("workflow/report/render.py"),
    output:
        "results/report.html",
    log:
        "results/logs/report.log",
    params:
        marks=MARKS,
        tables=[f"--table {id_}" for id_ in SETTINGS.config["tables"]],
        figures=[f"--figure {id_}" for id_ in SETTINGS.config["figures"]],
    shell:
        "logged {log} python -m workflow.report.render --tables results/tables --figures results/figures"
        " {params.tables} {params.figures} --collected {input.measurements} --samples results/samples --recorded results/recorded"
        " --aliases {input.aliases} --out {output}"
