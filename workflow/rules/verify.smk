# The ledger: what each tool answered in each race, and what was wrong with it.
rule verify:
    input:
        samples=all_sample_files(),
        modules=sources.closure("workflow/scripts/verify_ledger.py"),
    output:
        report(
            LEDGER,
            caption="../report/ledger.rst",
            category="Verification",
            labels={"ledger": "every verified cell"},
        ),
    log:
        f"results/logs/verify/{LANE}/{HOST}.log",
    shell:
        "logged {log} python -m workflow.scripts.verify_ledger --races {input.samples:q} --out {output}"
