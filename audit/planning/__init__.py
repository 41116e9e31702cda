"""What shall run."""
