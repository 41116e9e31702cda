"""Who is who by published attributes, and by numbers of neighbours with them."""
