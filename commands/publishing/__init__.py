"""`gaudit anonymize`, and what it says of the network that it writes."""
