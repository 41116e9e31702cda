"""The published tables and figures of the systems that gaudit runs, as plans with the printed values beside."""
