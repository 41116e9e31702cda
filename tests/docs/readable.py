"""How readable the documents are: words and sentences of each, without code and tables of figures.

python tests/docs/readable.py README.md $(find docs -name "*.md")
"""

import re
import sys
from dataclasses import dataclass
from pathlib import Path

LONG = 30
"""A sentence of more words is a long one."""
MOST_WORDS = 1500
"""Of a page; code, tables of figures, which commands make, and what is folded do not count."""
FOLDED = re.compile(r"^\?\?\? .*\n(?:(?: {4}.*)?\n)*", re.M)
"""A block that a reader has to open."""


@dataclass(frozen=True)
class Page:
    """The prose of a document: its sentences, each as a list of words."""

    sentences: tuple[tuple[str, ...], ...]
    in_tables: int
    """Words in tables that are no tables of figures."""
    folded: int = 0
    """Words in blocks that a reader has to open."""

    @property
    def words(self) -> int:
        """How many words there are to read."""
        return sum(map(len, self.sentences)) + self.in_tables - self.folded

    @property
    def long(self) -> list[str]:
        """The sentences of more than `LONG` words."""
        return [" ".join(sentence) for sentence in self.sentences if len(sentence) > LONG]


def read(text: str) -> Page:
    """The prose of Markdown: paragraphs and items of lists; a piece of code within a sentence is one word."""
    folded = "\n".join(FOLDED.findall(f"{text}\n"))
    page = _all_of(text)
    return Page(page.sentences, page.in_tables, _all_of(folded).words if folded else 0)


def _all_of(text: str) -> Page:
    text = re.sub(r"^---\n.*?^---\n", "", text, count=1, flags=re.S | re.M)
    text = re.sub(r"^( *)```.*?^\1```[^\n]*$", "\n", text, flags=re.S | re.M)
    text = re.sub(r"<!--.*?-->|<[^>\n]+>", "", text, flags=re.S)
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"`[^`]+`", "CODE", text)
    blocks, current = [], []
    for line in [*text.split("\n"), ""]:
        bare = line.strip()
        table, heading, call = bare.startswith("|"), bare.startswith("#"), bare.startswith(("!!!", "???", ":::"))
        code = line.startswith("    ") and not current
        if not bare or table or heading or call or code or re.match(r"([-*]|\d+\.) ", bare):
            blocks.append(" ".join(current))
            current = []
        if bare and not (table or heading or call or code):
            current.append(re.sub(r"^([-*]|\d+\.) ", "", bare))
    sentences = []
    for block in filter(None, blocks):
        plain = re.sub(r"\b(e\.g|i\.e|et al|vs|cf|Eq|Fig|Sec|Table)\.", r"\1", block.replace("*", ""))
        for sentence in re.split(r"(?<=[.!?:])[\"')]*\s+(?=[\"'(]*[A-Z0-9])", plain):
            words = tuple(word for word in sentence.split() if re.search(r"\w", word))
            sentences += [words] if words else []
    return Page(tuple(sentences), sum(map(_words_of_table, re.findall(r"(?:^ *\|.*\n)+", f"{text}\n", re.M))))


def _words_of_table(table: str) -> int:
    """The words of a table, or 0 where most of its cells hold a figure."""
    cells = [cell.strip() for row in table.splitlines()[2:] for cell in row.strip().strip("|").split("|")]
    figures = sum(bool(re.search(r"\d", cell)) or not cell for cell in cells)
    return 0 if figures > len(cells) / 2 else len(re.findall(r"[^\s|]*\w[^\s|]*", table))


def main(files: list[str]) -> None:
    """Print the figures of each file, and of all."""
    pages = {file: read(Path(file).read_text(encoding="utf-8")) for file in files}
    for file, page in sorted(pages.items(), key=lambda pair: -pair[1].words):
        share = len(page.long) / max(1, len(page.sentences))
        print(f"{page.words:6} words {len(page.sentences):5} sentences {share:6.1%} above {LONG} words  {file}")
    sentences = sum(len(page.sentences) for page in pages.values())
    long = sum(len(page.long) for page in pages.values())
    print(f"all: {sentences} sentences, {long} ({long / sentences:.1%}) above {LONG} words")


if __name__ == "__main__":
    main(sys.argv[1:])
