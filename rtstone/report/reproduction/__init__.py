"""A reproduced publication for the reader."""
