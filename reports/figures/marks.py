"""How curves and points of different defenses are told apart, with and without colour."""

from collections.abc import Iterable
from dataclasses import dataclass

from markupsafe import Markup

from ...audit.results.audit_result import Section
from ...audit.results.outcome import CONTROL
from .svg import Place, element, number

SHAPES = {
    "circle": "M-5 0a5 5 0 1 0 10 0a5 5 0 1 0 -10 0Z",
    "square": "M-4.5 -4.5H4.5V4.5H-4.5Z",
    "triangle": "M0 -5.8L5.5 4.2H-5.5Z",
    "fall": "M0 5.8L5.5 -4.2H-5.5Z",
    "cross": "M-5 -5L5 5M-5 5L5 -5",
    "plus": "M-6 0H6M0 -6V6",
    "diamond": "M0 -6.5L6.5 0L0 6.5L-6.5 0Z",
}
HOLLOW = ("circle", "square", "triangle", "fall")  # closed: an alternative is drawn empty
SERIES = ("circle", "square", "triangle", "fall", "cross", "plus")


@dataclass(frozen=True)
class Mark:
    """The look of one defense.

    Attributes:
        defense: its name.
        name: what the legend says.
        class_: for colour, width and dashes, in the style sheet.
        shape: of its points.
    """

    defense: str
    name: str
    class_: str
    shape: str

    def at(self, place: Place) -> Markup:
        """A point."""
        where = f"translate({number(place[0])} {number(place[1])})"
        return element("path", d=SHAPES[self.shape], transform=where, class_=f"point {self.class_}")

    @property
    def curve(self) -> str:
        """The class of its line."""
        return f"curve {self.class_}"

    def sample(self) -> Markup:
        """A piece of line with a point, for a legend."""
        stroke = element("path", d="M0 0H34", class_=self.curve)
        return element(
            "svg", stroke, self.at((17.0, 0.0)), viewBox="-1 -9 36 18", class_="sample", aria_hidden="true"
        )


def marks(section: Section) -> dict[str, Mark]:
    """The look of each defense of a section, by name: the same in all its figures."""
    names = dict.fromkeys(o.defense for o in section.outcomes)
    others = {o.defense for o in section.outcomes if o.alternative}
    ordered = sorted((name for name in names if name != CONTROL), key=lambda name: name in others)
    found = {name: Mark(name, title_of(section, name), "control", "diamond") for name in names if name == CONTROL}
    return found | {n: _mark(i, title_of(section, n), n, n in others) for i, n in enumerate(ordered)}


def _mark(index: int, title: str, name: str, alternative: bool) -> Mark:
    line, shape = look(index)
    if alternative:
        return Mark(name, title, f"{line} alternative", HOLLOW[index % len(HOLLOW)])
    return Mark(name, title, line, shape)


def look(index: int) -> tuple[str, str]:
    """The class and the shape of a series by its place; the first 36 all look different."""
    turn, place = divmod(index, len(SERIES))
    return f"s{(place + turn) % len(SERIES)}", SERIES[place]  # next time round a shape has another colour and dash


def title_of(section: Section, defense: str) -> str:
    """A defense in a legend: with its knob where it ran at several strengths, and its role."""
    same = [o for o in section.outcomes if o.defense == defense]
    if same[0].alternative:
        return f"{defense} (trivial alternative)"
    return f"{defense} ({same[0].phrase})" if defense != same[0].phrase else defense


def legend(entries: Iterable[tuple[Markup, str]]) -> Markup:
    """Samples with their names, as a list beneath a figure."""
    rows = [element("li", sample, " ", name) for sample, name in entries]
    return element("ul", *rows, class_="legend")
