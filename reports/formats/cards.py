"""An audit's verdicts and answers as a notebook shows them: the report's cards, without a page around them."""

from collections.abc import Iterator

from markupsafe import Markup, escape

from ...audit.results.audit_result import Audit
from ..text.answers import answers, granted, invalidity, nothing_answered, question, warnings
from ..text.comparison import help_for
from ..text.explanations import untested
from ..text.overview import overall

CARD = "border:1px solid #8a94a0;border-radius:.4rem;padding:.6rem .9rem;margin:.5rem 0;max-width:56rem"
"""A style of its own, which leaves a notebook's colours as they are."""


def cards(audit: Audit) -> str:
    """A verdict for each question, then a card for each answer; of an invalid audit why it is that."""
    return "".join(f'<div style="{CARD}">{card}</div>' for card in _cards(audit))


def _cards(audit: Audit) -> Iterator[Markup]:
    wrong = invalidity(audit)
    if wrong:
        yield _card("This audit is invalid, and its numbers mean nothing.", wrong)
        return
    for line in overall(audit):
        said = (f"{line.decision} {line.after}".strip(), *(f"{name}: {value}" for name, value in line.details))
        yield _card(f"{line.question} {str(line.level).capitalize()}.", said)
    for place, text in answers(audit):
        said = (text, *help_for(place, audit.plan.severity), granted(place))
        yield _card(f"{question(place.attack.game)} {place.section.title}", said)
    rest = [*warnings(audit), *(f"Not tested: {what}." for s in audit.sections for what in untested(s))]
    if rest:
        yield _card("Read this too." if answers(audit) else nothing_answered(audit), rest)


def _card(title: str, said: "list[str] | tuple[str, ...]") -> Markup:
    """A title and sentences, escaped."""
    paragraphs = Markup("").join(Markup("<p style='margin:.2rem 0'>{}</p>").format(escape(text)) for text in said)
    return Markup("<p style='margin:.2rem 0'><strong>{}</strong></p>{}").format(title, paragraphs)
