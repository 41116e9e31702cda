"""Published people with attributes, of whom several are alike by these and by their numbers of neighbours."""
