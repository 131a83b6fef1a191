"""thesis Tab 5 (ewfa Tab 3): metrics of the three kernels on one data set."""

from workflow.scripts import kernel_metrics

TITLE = "thesis Tab 5 (ewfa Tab 3): metrics of the three alignment kernels on one data set"
CAPTION = (
    "The papers' design with CIGARs on pairs of 150 letters at 5 % error, with 32 threads a block; the thesis aligned "
    "1M on a V100. Each column is the same work by another kernel, also where a smaller one would do."
)
main = kernel_metrics.command("thesis_tab5", TITLE, CAPTION)

if __name__ == "__main__":
    main()
