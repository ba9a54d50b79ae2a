"""Parts that reports share: words, numbers, output."""
