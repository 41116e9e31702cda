"""Who is who in a network that is published by windows of time."""
