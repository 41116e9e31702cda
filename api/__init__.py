"""What Python users call: whatever they bring is audited, and comes back as one kind of result."""
