"""Reports for people: terminal, HTML, Markdown."""
