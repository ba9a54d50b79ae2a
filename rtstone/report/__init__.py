"""What a person reads: terminal and HTML."""
