"""Proofs that a provisioned host can do what was promised: compile, run, and survive the next apt upgrade."""
