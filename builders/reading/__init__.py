"""Reading upstream files of any size once: as streams, for several takers, sampled, resumable."""
