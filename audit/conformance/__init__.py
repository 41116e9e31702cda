"""What every registered class owes, checked by running it: gaudit's own in the tests, plug-ins on demand."""
