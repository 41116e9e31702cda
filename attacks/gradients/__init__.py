"""What gradients spell out."""
