# One row a race and tool: medians and intervals of what was measured here, and of the recorded hosts.
rule collect:
    input:
        samples=all_sample_files() + other_sample_files(),
        recorded=recorded_files(),
        modules=sources.closure("workflow/scripts/collect.py"),
    output:
        MEASUREMENTS,
    log:
        "results/logs/collect.log",
    shell:
        "python -m workflow.scripts.collect --samples results/samples --recorded results/recorded"
        " --out {output} 2> {log}"
