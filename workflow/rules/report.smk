# One offline page of everything.
rule report:
    input:
        tables=TABLES,
        figures=FIGURES,
        ledger=LEDGER,
        measurements=MEASUREMENTS,
        aliases="config/aliases.yaml",
        config="config/config.yaml",
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
        tables=lambda wildcards, input: os.path.dirname(input.tables[0]),
        figures=lambda wildcards, input: os.path.dirname(input.figures[0]),
    shell:
        "python -m workflow.report.render --tables {params.tables} --figures {params.figures}"
        " --collected {input.measurements} --samples results/samples --recorded results/recorded"
        " --aliases {input.aliases} --config {input.config} --out {output} 2> {log}"
