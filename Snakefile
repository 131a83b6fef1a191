# The workflow lives in workflow/Snakefile; a plain run from here picks up profiles/default.
include: "workflow/Snakefile"


rule default:
    input:
        rules.all.input,
