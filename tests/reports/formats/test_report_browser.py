"""The report in a browser: it asks for nothing, runs its own script alone, is read in both themes, prints whole."""

import re
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from gaudit.reports.formats.html import as_html
from support.audits import simulated

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-core is not installed")

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
ARGUMENTS += ["--disable-sync", "--no-first-run"]
EVIL = "<script>alert(1)</script>"

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")

LOW_CONTRAST = """() => {
  const share = c => c <= 0.04045 ? c / 12.92 : Math.pow((c + 0.055) / 1.055, 2.4);
  const read = colour => colour.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => 0.2126 * share(r / 255) + 0.7152 * share(g / 255) + 0.0722 * share(b / 255);
  const ground = element => {
    for (let e = element; e; e = e.parentElement) {
      const colour = read(getComputedStyle(e).backgroundColor);
      if (colour.length < 4 || colour[3] > 0) return colour;
    }
    return [255, 255, 255];
  };
  const found = [];
  for (const e of document.body.querySelectorAll('*')) {
    const own = [...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim());
    if (!own || ['SCRIPT', 'STYLE', 'title', 'desc'].includes(e.tagName)) continue;
    const style = getComputedStyle(e);
    const [a, b] = [light(read(e.closest('svg') ? style.fill : style.color)), light(ground(e))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) found.push(e.tagName + ' ' + e.textContent.slice(0, 40) + ' ' + ratio.toFixed(2));
  }
  return found;
}"""


@pytest.fixture(scope="module")
def report(tmp_path_factory) -> Path:
    leaks = {("none", None): (1.0, 0.8), ("ldp", 1.0): (0.1, 0.5), ("ldp", 10.0): (0.5, 0.75)}
    audit = simulated(leaks, datasets=("citations", EVIL), seeds=3)
    audit = replace(audit, missing=2)  # so that the banner is there too
    path = tmp_path_factory.mktemp("report") / "report.html"
    path.write_text(as_html(audit), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def browser() -> Iterator:
    with playwright.sync_playwright() as play:
        made = play.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)  # with an empty profile of its own
        yield made
        made.close()


@pytest.fixture
def opened(browser, report):
    """``opened(...)``: the page, with what it asked for and complained about; options are those of a new page."""
    pages = []

    def open_page(**options):
        page = browser.new_page(**options)
        pages.append(page)
        heard = {"console": [], "requests": [], "dialogs": [], "errors": []}
        page.on("console", lambda message: heard["console"].append(message.text))
        page.on("request", lambda request: heard["requests"].append(request.url))
        page.on("pageerror", lambda error: heard["errors"].append(str(error)))
        page.on("dialog", lambda dialog: (heard["dialogs"].append(dialog.message), dialog.dismiss()))
        page.goto(report.as_uri())
        page.wait_for_load_state("networkidle")
        return page, heard

    yield open_page
    for page in pages:
        page.close()


def test_the_page_asks_for_nothing_and_complains_about_nothing(opened, report):
    _, heard = opened()
    assert heard == {"console": [], "requests": [report.as_uri()], "dialogs": [], "errors": []}


def test_headings_tables_and_figures_are_there(opened):
    page, _ = opened()
    assert page.locator("h1").count() == 1
    assert page.locator("h2").count() == 11  # ten parts and the banner
    assert page.locator("table").count() > 10
    assert page.locator("figure svg[role=img]").count() == 6
    assert page.locator("figure details table").count() == 6


def test_a_name_that_is_a_script_stays_text(opened):
    page, heard = opened()
    assert page.get_by_text(EVIL).count() > 0
    assert page.locator("body script:not([type='application/json'])").count() == 1  # its own
    assert heard["dialogs"] == []
    assert page.evaluate("JSON.parse(document.getElementById('audit-data').textContent).findings.length") == 6


def test_tables_are_sorted_and_filtered_and_words_explained(opened):
    page, heard = opened()
    page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    table = page.locator("table").filter(has=page.locator("tbody tr:nth-child(8)")).first
    before = table.locator("tbody tr").all_inner_texts()
    button = table.locator("thead .sort").nth(1)
    button.click()
    assert table.locator("thead th").nth(1).get_attribute("aria-sort") == "ascending"
    assert sorted(table.locator("tbody tr").all_inner_texts()) == sorted(before)
    button.click()
    button.click()
    assert table.locator("tbody tr").all_inner_texts() == before
    field = page.locator(".filter").first
    field.fill("no such row")
    assert (
        page.locator(".filter + .wide tbody tr:visible").count() < page.locator(".filter + .wide tbody tr").count()
    )
    page.locator("a.term").first.hover()
    assert page.locator("#meaning").is_visible()
    page.keyboard.press("Escape")
    assert not page.locator("#meaning").is_visible()
    assert heard["errors"] == heard["console"] == []


def test_without_its_script_the_page_is_whole(browser, report):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(report.as_uri())
    assert page.locator(".sort, .filter").count() == 0
    assert page.locator("a.term").count() > 10
    assert page.locator("table").count() > 10
    context.close()


def test_light_and_dark_differ(opened):
    grounds = []
    for scheme in ("light", "dark"):
        page, _ = opened(color_scheme=scheme)
        grounds.append(page.evaluate("getComputedStyle(document.body).backgroundColor"))
    assert len(set(grounds)) == 2


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_all_text_stands_out_from_its_ground(opened, scheme):
    page, _ = opened(color_scheme=scheme)
    page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    assert page.evaluate(LOW_CONTRAST) == []


WCAG = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]}


@pytest.mark.dear
@pytest.mark.parametrize(
    ("scheme", "width", "scripted"),
    [("light", 390, True), ("light", 1280, False), ("dark", 390, False), ("dark", 1280, True)],
)
def test_axe_finds_no_violation(browser, report, tmp_path, scheme, width, scripted):
    """Each two of the three choices meet in one of the four cases."""
    text = report.read_text("utf-8")
    if not scripted:  # as a reader with scripts off has it: axe itself needs them on
        text = re.sub(r"<script(?! type=\"application/json\").*?</script>", "", text, flags=re.DOTALL)
    shown = tmp_path / "report.html"
    shown.write_text(text, encoding="utf-8")
    page = browser.new_page(color_scheme=scheme, viewport={"width": width, "height": 900})
    page.goto(shown.as_uri())
    assert bool(page.locator(".sort").count()) == scripted
    page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    found = axe.Axe().run(page, options=WCAG).response
    page.close()
    assert [(v["id"], v["nodes"][0]["html"][:80]) for v in found["violations"]] == []
    assert len(found["passes"]) > 20


@pytest.mark.parametrize("width", [400, 1280])
def test_the_page_is_no_wider_than_the_screen(opened, width):
    page, _ = opened(viewport={"width": width, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_figures_cut_no_text_off(opened):
    page, _ = opened()
    cut = page.evaluate("""() => [...document.querySelectorAll('svg.chart')].flatMap(svg => {
      const frame = svg.getBoundingClientRect();
      return [...svg.querySelectorAll('text')].filter(t => {
        const b = t.getBoundingClientRect();
        const beside = b.left < frame.left - 1 || b.right > frame.right + 1;
        return beside || b.top < frame.top - 1 || b.bottom > frame.bottom + 1;
      }).map(t => t.textContent);
    })""")
    assert cut == []


def test_what_is_folded_is_printed(opened):
    page, _ = opened()
    folded = (
        "[...document.querySelectorAll('details:not(.spare):not([open]) table')].filter(t => !t.closest('.spare'))"
    )
    seen = "t.checkVisibility({contentVisibilityAuto: true})"
    heights = f"{folded}.map(t => {seen} ? t.getBoundingClientRect().height : 0)"
    assert set(page.evaluate(heights)) == {0}
    page.emulate_media(media="print")
    page.wait_for_function(f"Math.min(...{heights}) > 20")  # a busy machine lays it out a frame later
    repeated = "[...document.querySelectorAll('details.spare')].filter(d => d.checkVisibility()).length"
    assert page.evaluate(repeated) == 0
    assert page.get_by_text("The printed report leaves out").is_visible()


def test_it_prints_light_and_whole(opened):
    page, _ = opened(color_scheme="dark")
    printed = page.pdf(format="A4")
    assert printed.startswith(b"%PDF-")
    assert printed.rstrip().endswith(b"%%EOF")
    page.emulate_media(media="print", color_scheme="dark")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"


LONG = "/srv/data/departments/registries/2026/extracts/with-consent/" + "pseudonymised" * 6 + "/graph.npz"


@pytest.mark.parametrize("width", [390, 1280])
def test_a_long_path_leaves_the_page_as_wide_as_the_screen(browser, tmp_path, width):
    shown = tmp_path / "report.html"
    leaks = {("none", None): (1.0, 0.8), ("ldp", 1.0): (0.1, 0.5)}
    shown.write_text(as_html(simulated(leaks, datasets=(LONG,), listed=("ldp",))), encoding="utf-8")
    page = browser.new_page(viewport={"width": width, "height": 900})
    page.goto(shown.as_uri())
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.close()


@pytest.mark.dear
def test_five_attacks_that_found_something_print_on_eight_pages(browser, tmp_path):
    shown = tmp_path / "report.html"
    leaks = {("none", None): (1.5, 0.8), ("label-noise", 1.0): (0.3, 0.7), ("ldp", 1.0): (0.0, 0.5)}
    leaks |= {("ldp", 10.0): (0.6, 0.7), ("fewer-labels", 0.5): (0.6, 0.75)}
    attacks = ("loss", "nearest", "mia", "lira", "rmia")
    made = simulated(leaks, listed=("label-noise", "ldp"), attacks=attacks, seeds=5)
    shown.write_text(as_html(made), encoding="utf-8")
    page = browser.new_page()
    page.goto(shown.as_uri())
    assert len(re.findall(rb"/Type /Page\b(?!s)", page.pdf(format="A4"))) <= 8
    page.close()
