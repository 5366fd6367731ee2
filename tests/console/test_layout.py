"""Each view with little space, with wide text, without motion, and the names of its controls."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ..features.webhooks.receiver import listening
from . import demo
from .conftest import Person

pytestmark = pytest.mark.verify
CONTROLS = {"button", "link", "textbox", "combobox", "checkbox", "radio", "searchbox", "grid"}

# The least that WCAG 1.4.12 requires. Adopted, because the policy forbids style elements.
_SPACING = """
const sheet = new CSSStyleSheet();
sheet.replaceSync(`* {
  line-height: 1.5 !important;
  letter-spacing: 0.12em !important;
  word-spacing: 0.16em !important;
} p { margin-bottom: 2em !important }`);
document.adoptedStyleSheets = [sheet];
"""
# Returns what is wider than the page, and texts that are cut without a sign of it.
_CUT = """
() => {
  const found = [];
  const main = document.getElementById("main");
  if (main.scrollWidth > main.clientWidth) found.push(`main is ${main.scrollWidth} px wide`);
  for (const element of document.querySelectorAll("#main *, nav *")) {
    const hasText = [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
    const style = getComputedStyle(element);
    if (!hasText || element.closest(".unseen, .who, svg") || style.display === "inline") continue;
    const isMeant = style.textOverflow === "ellipsis" || style.webkitLineClamp !== "none";
    const isCut = element.scrollWidth > element.clientWidth + 1;
    const isLow = element.scrollHeight > element.clientHeight + 4;
    const scrolls = ["auto", "scroll"].includes(style.overflowX);
    if ((isCut && !isMeant && !scrolls) || (isLow && !isMeant && !scrolls))
      found.push(`${element.tagName}.${element.className}: ${element.textContent.slice(0, 40)}`);
  }
  return found;
}
"""
# Counts transitions, which can have ended when a test looks for them.
_COUNT = """
window.moved = 0;
addEventListener("transitionrun", () => (window.moved += 1));
"""
_MOVING = """
() => window.moved
  + document.getAnimations().filter((each) => each.effect.getTiming().duration > 0).length
"""
# Resolves after the next frame, in which a transition of the last changes begins.
_FRAME = "() => new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)))"


@pytest.fixture
def full(person: Person) -> Iterator[Person]:
    """A person whose account has data for all views."""
    with listening() as good, listening() as bad:
        demo.fill(person.account, good, bad)
        person.sign_in()
        yield person


def open_all(person: Person) -> Iterator[str]:
    """Opens each view, and yields its name when it has loaded."""
    for name, path in demo.views(person.account).items():
        person.open(path)
        person.page.locator("#main").wait_for()
        # Live attempts never end.
        person.page.wait_for_load_state("load" if name == "tail" else "networkidle")
        yield name


@pytest.mark.parametrize("width", [320, 640, 1280])
def test_nothing_is_cut(full: Person, width: int) -> None:
    full.page.set_viewport_size({"width": width, "height": 640})

    assert {name: found for name in open_all(full) if (found := full.page.evaluate(_CUT))} == {}


@pytest.mark.parametrize("width", [320, 1280])
def test_nothing_is_cut_with_more_space_in_texts(full: Person, width: int) -> None:
    full.page.set_viewport_size({"width": width, "height": 640})
    full.page.add_init_script(_SPACING)

    assert {name: found for name in open_all(full) if (found := full.page.evaluate(_CUT))} == {}


def test_each_control_has_a_name(full: Person) -> None:
    for name in open_all(full):
        tree = full.page.context.new_cdp_session(full.page).send("Accessibility.getFullAXTree")
        nameless = [
            node["role"]["value"]
            for node in tree["nodes"]
            if node.get("role", {}).get("value") in CONTROLS
            and not node.get("name", {}).get("value", "").strip()
        ]
        assert (name, nameless) == (name, [])


@pytest.mark.parametrize("person", [{"reduced_motion": "reduce"}], indirect=True)
def test_nothing_moves_for_people_who_prefer_that(full: Person) -> None:
    page = full.page
    page.add_init_script(_COUNT)
    moving = []
    for name in open_all(full):
        page.locator("button:visible:enabled").first.hover()
        page.evaluate(_FRAME)
        if page.evaluate(_MOVING):
            moving.append(name)

    assert moving == []
