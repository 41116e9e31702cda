"""Elements of an SVG figure, escaped; colours and fonts come from the page's style sheet, through classes."""

from collections.abc import Sequence

from markupsafe import Markup, escape

Place = tuple[float, float]


def element(name: str, *children: Markup | str, **attributes: object) -> Markup:
    """``<name attribute="...">children</name>``; text and values are escaped.

    ``class_`` is written as ``class``, other underscores as hyphens; attributes that are None are left out.
    """
    given = {k.rstrip("_").replace("_", "-"): v for k, v in attributes.items() if v is not None}
    inside = "".join(f' {key}="{escape(number(v) if isinstance(v, float) else v)}"' for key, v in given.items())
    content = Markup("").join(escape(child) for child in children)
    return Markup(f"<{name}{inside}>{content}</{name}>" if content else f"<{name}{inside}/>")


def number(value: float) -> str:
    """A coordinate: a tenth of a unit is finer than a screen shows."""
    text = f"{value:.1f}"
    return text[:-2] if text.endswith(".0") else text


def text(place: Place, content: str, class_: str = "tick", anchor: str = "start", **more: object) -> Markup:
    """A line of text; ``anchor`` is start, middle or end."""
    at = None if anchor == "start" else anchor
    return element("text", content, x=place[0], y=place[1], class_=class_, text_anchor=at, **more)


def line(start: Place, end: Place, class_: str) -> Markup:
    """A straight line."""
    return element("path", d=f"M{_pair(start)}L{_pair(end)}", class_=class_)


def polyline(places: Sequence[Place], class_: str) -> Markup:
    """A line through places."""
    return element("path", d="M" + "L".join(map(_pair, places)), class_=class_)


def steps(places: Sequence[Place], class_: str) -> Markup:
    """A staircase: each height holds up to the next place."""
    (x, y), *rest = places
    path = f"M{_pair((x, y))}" + "".join(f"H{number(right)}V{number(height)}" for right, height in rest)
    return element("path", d=path, class_=class_)


def box(left: float, top: float, right: float, bottom: float, class_: str) -> Markup:
    """A rectangle."""
    return element("rect", x=left, y=top, width=right - left, height=bottom - top, class_=class_)


def drawing(width: float, height: float, name: str, title: str, summary: str, *parts: Markup) -> Markup:
    """A whole figure; ``name`` is unique on the page, title and summary are read aloud by screen readers."""
    labelled = f"{name}-title {name}-summary"
    return element(
        "svg",
        element("title", title, id=f"{name}-title"),
        element("desc", summary, id=f"{name}-summary"),
        *parts,
        viewBox=f"0 0 {number(width)} {number(height)}",
        role="img",
        aria_labelledby=labelled,
        class_="chart",
    )


def _pair(place: Place) -> str:
    return f"{number(place[0])} {number(place[1])}"
