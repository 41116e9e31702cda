"""Wrong mechanisms by family: short classes with one error each, wrong at epsilon 1 and at epsilon 4.

Inputs and scores are such as an author would name, not those that show the error best: to find these is the task of
`gaudit check-claim --search`.
"""
