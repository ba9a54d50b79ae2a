"""Reports of simulations."""
