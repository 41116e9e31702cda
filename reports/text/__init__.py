"""Words, sentences and tables that all reports share."""
