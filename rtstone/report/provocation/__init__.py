"""What actions of other processes delay, on the terminal."""
