"""Is an epsilon kept? Mechanisms and trainings against their promises."""
