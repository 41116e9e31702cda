"""Are these two nodes linked?"""
