"""What classes are called, and which there are."""

from ...registry import find, is_installed, is_ours, registered, summary
from .rule import Kept, must


def ours(group: str) -> list[str]:
    """All names that gaudit itself registers in a group."""
    return [name for name, point in registered(group).items() if is_ours(point)]


def theirs(group: str) -> list[str]:
    """All names that other packages register in a group."""
    own = set(ours(group))
    return [name for name in registered(group) if name not in own]


def check_name(group: str, name: str) -> Kept:
    """A class bears the name that it is registered under, and its docstring says what it is in one line."""
    found = find(group, name)
    if is_installed(group, name):
        must(found.name == name, f"it is registered as '{name}' and calls itself '{found.name}'")
    else:
        taken = is_installed(group, found.name) and find(group, found.name) is not found
        must(not taken, f"it calls itself '{found.name}', which is the name of another: results would be mixed up")
    must(bool(summary(found)), "it has no docstring, whose first line says what it is")
    own = "__doc__" in vars(found) and bool(found.__doc__)
    must(own, "it has no docstring of its own, and would be listed with that of its base")
    return Kept(summary(found))
