"""Does a promise follow from what is said of it?"""
