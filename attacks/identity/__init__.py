"""Which published node is this person?"""
