"""Task sets: their file, and whether their deadlines hold by analysis."""
