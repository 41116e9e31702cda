"""The command line: the only place that knows all of gaudit."""
