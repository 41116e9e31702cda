"""What is asked about whom: the truth of each game."""
