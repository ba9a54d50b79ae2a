"""Why a sample was slow: by a replay in the lab, or by a trace of a live system."""
