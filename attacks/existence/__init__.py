"""Whether a person is in a published network at all."""
