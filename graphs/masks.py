"""What the three parts of a graph to learn from are called."""

MASKS = ("train_mask", "val_mask", "test_mask")
