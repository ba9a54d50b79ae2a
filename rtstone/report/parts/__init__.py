"""What all reports are made of: words, numbers, output."""
