"""Each view with little space, with wide text, without motion, and the names of its controls."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from ..features.webhooks.receiver import listening
from . import demo
from .conftest import WIDTHS, Person

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
  const main = document.querySelector("main");
  if (main.scrollWidth > main.clientWidth) found.push(`main is ${main.scrollWidth} px wide`);
  for (const element of document.querySelectorAll("main *, nav *")) {
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
# Returns controls of less than 24 px without the space around them that WCAG 2.5.8 requires.
# Links in sentences are as high as their lines.
_SMALL = """
() => {
  const every = "a[href], button, input, select, textarea, summary, [role=separator]";
  const targets = [...document.querySelectorAll(every)].flatMap((element) => {
    const isShown = element.checkVisibility({ visibilityProperty: true });
    const isInSentence = getComputedStyle(element).display === "inline" &&
      [...element.parentNode.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
    if (!isShown || isInSentence || element.closest(".unseen, .skip")) return [];
    const box = (element.closest("label") ?? element).getBoundingClientRect();
    const x = (box.left + box.right) / 2, y = (box.top + box.bottom) / 2;
    const isSmall = box.width < 24 || box.height < 24;
    return box.width && box.height ? [{ element, box, x, y, isSmall }] : [];
  });
  const isNear = (one, { element, box, x, y, isSmall }) => {
    if (one.element.contains(element) || element.contains(one.element)) return false;
    const dx = one.x - Math.max(box.left, Math.min(one.x, box.right));
    const dy = one.y - Math.max(box.top, Math.min(one.y, box.bottom));
    return Math.hypot(dx, dy) < 12 || (isSmall && Math.hypot(one.x - x, one.y - y) < 24);
  };
  return targets
    .filter((one) => one.isSmall && targets.some((other) => isNear(one, other)))
    .map(({ element, box }) => `${element.outerHTML.slice(0, 90)} ${box.width} x ${box.height}`);
}
"""
# Counts animations that run, and elements that would move, such as when the mouse is over them.
_MOVING = """
() => {
  const isLong = (durations) => durations.split(", ").some((each) => parseFloat(each) > 0);
  const running = document.getAnimations().filter((each) => each.effect.getTiming().duration > 0);
  const moving = [...document.querySelectorAll("*")].filter((element) => {
    const { transitionDuration, animationDuration } = getComputedStyle(element);
    return isLong(transitionDuration) || isLong(animationDuration);
  });
  return running.length + moving.length;
}
"""

# Returns drawings that keep their own colors, and marks that are lost without backgrounds.
_LOST = """
() => {
  const probe = document.body.appendChild(document.createElement("span"));
  const colors = ["CanvasText", "LinkText", "GrayText", "Highlight"].map((name) => {
    probe.style.color = name;
    return getComputedStyle(probe).color;
  });
  probe.remove();
  colors.push("rgba(0, 0, 0, 0)");
  const drawn = document.querySelectorAll("#main svg :is(rect, text)");
  const marked = document.querySelectorAll("a[aria-current], .rows [aria-selected=true]");
  return [
    ...[...drawn].filter((each) => !colors.includes(getComputedStyle(each).fill)),
    ...[...marked].filter((each) => getComputedStyle(each).outlineStyle === "none"),
  ].map((each) => each.outerHTML.slice(0, 80));
}
"""


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
    person.page.context.clear_cookies()
    person.open("/")
    person.page.get_by_label("Sign-in link or API key").or_(
        person.page.get_by_label("Login-Link oder API-Schlüssel")
    ).wait_for()
    yield "sign-in"


@pytest.mark.parametrize("width", [320, 640, 720, 1280])
def test_nothing_is_cut(full: Person, width: int) -> None:
    full.page.set_viewport_size({"width": width, "height": 640})

    assert {name: found for name in open_all(full) if (found := full.page.evaluate(_CUT))} == {}


@pytest.mark.parametrize("width", [320, 1280])
def test_nothing_is_cut_with_more_space_in_texts(full: Person, width: int) -> None:
    full.page.set_viewport_size({"width": width, "height": 640})
    full.page.add_init_script(_SPACING)

    assert {name: found for name in open_all(full) if (found := full.page.evaluate(_CUT))} == {}


@pytest.mark.parametrize("width", WIDTHS)
def test_targets_are_large_or_have_space_around_them(full: Person, width: int) -> None:
    full.page.set_viewport_size({"width": width, "height": 800})

    assert {name: found for name in open_all(full) if (found := full.page.evaluate(_SMALL))} == {}


def test_each_view_is_accessible_and_has_one_live_region(full: Person) -> None:
    for name in open_all(full):
        assert (name, full.page.locator("[role=status], [aria-live]").count()) == (name, 1)
        full.check_accessibility()


def controls(page: Page) -> set[tuple[str, ...]]:
    """Returns the role, name, description and target of controls, as screen readers get them."""
    session = page.context.new_cdp_session(page)
    nodes = session.send("Accessibility.getFullAXTree")["nodes"]
    session.detach()
    parents = {child: node for node in nodes for child in node.get("childIds", [])}
    found: set[tuple[str, ...]] = set()
    for node in nodes:
        role = _value(node, "role")
        # The browser shows a button in its date fields.
        above = parents.get(node["nodeId"])
        while above and _value(above, "role") not in ("Date", "DateTime"):
            above = parents.get(above["nodeId"])
        if node["ignored"] or role not in CONTROLS or above:
            continue
        values = {each["name"]: each["value"].get("value") for each in node.get("properties", [])}
        target = values.get("url") or node["nodeId"]
        found.add((role, _value(node, "name").strip(), _value(node, "description"), target))
    return found


def _value(node: Any, key: str) -> str:
    value: str = node.get(key, {}).get("value", "")
    return value


@pytest.mark.parametrize("person", [{"locale": "en-GB"}, {"locale": "de-DE"}], indirect=True)
def test_each_control_has_a_name_of_its_own(full: Person) -> None:
    """Links to the same address may have the same name."""
    full.account.ok("CreateSignInLink", name="Eve", scope="read")
    for name in open_all(full):
        found = [each[:3] for each in controls(full.page)]
        assert (name, [each for each in found if not each[1]]) == (name, [])
        assert (name, [each for each in found if found.count(each) > 1]) == (name, [])


def test_each_risky_dialog_is_described_by_what_it_ends(full: Person) -> None:
    page, paths = full.page, demo.views(full.account)
    dialogs: list[tuple[str, list[str], str]] = [
        ("person", ["More actions", "Delete…"], "Removes the person with tags.*cannot be undone"),
        ("person", ["More actions", "Erase…"], "Removes the person, their.*cannot be undone"),
        ("keys", ["Actions for Dashboard", "Rotate secret…"], "Dashboard gets a new.*the old one"),
        ("keys", ["Actions for Dashboard", "Revoke key…"], "Calls with it fail from now on"),
        ("sessions", ["Sign out: Ada"], "your own session: you will be signed out"),
        ("sessions", ["Sign out everywhere…"], "All sessions of this account end"),
        ("sessions", ["Revoke: Grace"], "The link for Grace will no longer work"),
        ("home", ["Ada Admin", "Sign out everywhere…"], "All sessions of this account end"),
        ("endpoint", ["More actions", "Rotate secret…"], "signed with the new and the old"),
        ("endpoint", ["More actions", "Delete endpoint…"], "gets no more events"),
        ("segment", ["Delete…"], "Only the saved filter is deleted"),
        ("tags", ["Actions for beta", "Delete…"], "It is removed from .* people"),
        ("fields", ["Actions for Plan", "Delete…"], "have a value, which is deleted for good"),
        ("suppressions", ["Block addresses…"], "get no more mail, from now on"),
    ]
    for view, buttons, text in dialogs:
        full.open(paths[view])
        page.wait_for_load_state("networkidle")
        for name in buttons:
            # Sessions and links have their time in the name too.
            page.get_by_role("button", name=re.compile(f"^{re.escape(name)}(, |$)")).click()
        dialog = page.get_by_role("dialog")
        # It is described by what is there when it opens; the rest is announced.
        described = dialog.get_attribute("aria-describedby") or ""
        read = dialog.locator(
            ", ".join([f"[id='{each}']" for each in described.split()] + ["[role=status]"])
        )
        expect(read.filter(has_text=re.compile(text, re.DOTALL))).not_to_have_count(0)


@pytest.mark.parametrize("person", [{"reduced_motion": "reduce"}], indirect=True)
def test_nothing_moves_for_people_who_prefer_that(full: Person) -> None:
    assert [name for name in open_all(full) if full.page.evaluate(_MOVING)] == []


@pytest.mark.parametrize(
    "person", [{"forced_colors": "active", "color_scheme": "dark"}], indirect=True
)
def test_colors_of_the_person_are_used(full: Person) -> None:
    page = full.page
    page.evaluate("localStorage.setItem('console-theme', 'light')")
    for name in open_all(full):
        if name == "subscribers":
            page.keyboard.press("j")
            page.keyboard.press("x")
        assert (name, page.evaluate(_LOST)) == (name, [])
