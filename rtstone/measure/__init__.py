"""Turn a request into a run: plan, measure, interleave, rounds."""
