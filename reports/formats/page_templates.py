"""What all HTML pages share: templates, in which everything from outside is escaped, and how text is set."""

import json
import re
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from ...audit.statistics.severity import Level

TEMPLATES = Path(__file__).parent / "templates"
INTERVAL = re.compile(r"\[[\d., %-]+\]|\([\d.]+ %: [\d.,  ]+ to [\d.,  ]+\)")
NO_BREAK = "\N{NO-BREAK SPACE}"


def templates() -> Environment:
    """The templates with their filters; ``linked`` sets text, and a page with a glossary puts links into it."""
    found = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.tests["level"] = lambda value: isinstance(value, Level)
    found.filters["pretty"] = lambda value: json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False)
    found.filters["tied"] = tied
    found.filters["linked"] = set_text
    found.filters["slug"] = lambda level: str(level).replace(",", "").replace(" ", "-")
    return found


def set_text(text: str) -> Markup:
    """Text escaped, with spaces that do not break; paragraphs of a template as they are."""
    return text if isinstance(text, Markup) else escape(tied(text))


def tied(text: str) -> str:
    """With spaces at which no line breaks within intervals and before percent signs."""
    return INTERVAL.sub(lambda found: found[0].replace(" ", NO_BREAK), text).replace(" %", f"{NO_BREAK}%")
