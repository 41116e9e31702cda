"""What a party can do about it: on its data, in its training, on its messages."""
