"""What is read from the GPU itself rather than raced: counters under Nsight Compute, timeline and occupancy."""
