"""Where the time of a sample went, on the terminal and as a page."""
