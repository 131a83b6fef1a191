"""thesis Tab 4 (ewfa Tab 2): metrics of the kernel that fits each data set of 1000 letters."""

from workflow.scripts import kernel_metrics

TITLE = "thesis Tab 4 (ewfa Tab 2): metrics of each specialised alignment kernel"
CAPTION = (
    "The papers' design with CIGARs on pairs of 1000 letters; the thesis aligned 1M on a V100. The kernel is chosen "
    "automatically, the smallest that does the pairs, with 32, 64 or 128 threads a block."
)
main = kernel_metrics.command("thesis_tab4", TITLE, CAPTION)

if __name__ == "__main__":
    main()
