"""From records of the wire to results: histograms, intervals, slopes, derived benches, flags."""
