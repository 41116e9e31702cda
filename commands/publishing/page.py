"""The page that `gaudit anonymize --report` writes."""

from ... import __version__
from ...reports.formats.anonymised import AnonymisedPage, anonymised_page
from .anonymise_command import Anonymised, AnonymiseRequest


def page_of(request: AnonymiseRequest, done: Anonymised) -> str:
    """The page about what a request came to, whose people at risk were counted."""
    if done.risk is None:
        raise ValueError("who is at risk was not counted")
    settings = ", ".join(f"{name}={value}" for name, value in request.settings.items())
    facts = {
        "Source": done.telling.read,
        "Defense": f"{request.defense} ({settings or 'its defaults'})",
        "Ids": "drawn at random" if request.rename else "those of the source: publish with --rename",
        "Randomness": "fresh" if request.seed is None else "drawn with a seed: publish without --seed",
        "Made with": f"gaudit {__version__}",
    }
    return anonymised_page(
        AnonymisedPage(
            source=request.source.name,
            destination=request.destination.name,
            facts=tuple(facts.items()),
            told=done.telling.told,
            untold=done.telling.untold,
            remarks=(*done.telling.remarks, *done.remarks),
            changed=done.changed,
            defense=request.defense,
            verified=done.verified,
            promise=done.promise,
            scope=done.scope,
            risk=done.risk,
            people=done.people,
            kept=done.kept,
        )
    )
