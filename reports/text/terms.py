"""Where the words of the glossary are used: each use leads to the meaning."""

import re

USES = {
    "without the release": r"without the release",
    "trivial alternative": r"trivial alternatives?",
    "false accusations": r"false accusations|wrongly accus(?:ed|ing)|accusing",
    "interval (95 %)": r"intervals?|95[ \u00a0]%",
    "member, non-member": r"(?:non-)?members?",
    "epsilon": r"epsilon",
    "release": r"releases?|released",
    "AUC": r"AUC",
}
"""How each word of the glossary is written where it is used; what is longer comes first."""
ANYWHERE = re.compile("|".join(rf"(?P<t{place}>\b(?:{use}))(?!\w)" for place, use in enumerate(USES.values())))


def anchor(word: str) -> str:
    """The id of a word's entry in the glossary."""
    return "word-" + re.sub(r"[^a-z]+", "-", word.lower()).strip("-")


def linked(markup: str) -> str:
    """Text that has been escaped, with the first use of each word of the glossary as a link to its meaning."""
    words, seen = list(USES), set[str]()

    def link(found: re.Match[str]) -> str:
        word = words[int(str(found.lastgroup)[1:])]
        if word in seen:
            return found[0]
        seen.add(word)
        return f'<a class="term" href="#{anchor(word)}">{found[0]}</a>'

    return ANYWHERE.sub(link, markup)
