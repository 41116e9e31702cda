"""What the three parts of a graph to learn from are called."""

MASKS = ("train_mask", "val_mask", "test_mask")
SPLIT_DRAWN = "split_drawn"
"""The field of a graph whose file held no masks: they are drawn, and no truth about what was trained elsewhere."""
