"""What an adversary does with what it sees."""
