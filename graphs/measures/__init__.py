"""What a network is used for, and how much of it a changed one keeps."""
