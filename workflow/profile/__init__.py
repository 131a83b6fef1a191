"""What is read from the GPU itself rather than raced: its counters under Nsight Compute, the timeline of a call, how busy it was."""
