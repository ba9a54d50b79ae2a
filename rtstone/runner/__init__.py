"""From a request to a run: plan, measure, interleave, rounds."""
