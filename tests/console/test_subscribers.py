"""The list of subscribers in a browser: windowing, search, address, keyboard and selection."""

from __future__ import annotations

import json
import re

import pytest
from playwright.sync_api import Locator, expect

from .conftest import Person
from .people import add_people, add_person

pytestmark = pytest.mark.verify
COUNT = 1_203


@pytest.fixture
def crowd(person: Person) -> Person:
    """A person who looks at 1,203 subscribers."""
    add_people(person.account, COUNT)
    person.sign_in()
    person.open("/subscribers")
    expect(row(person, 0)).to_contain_text("p1202@example.com")
    return person


def row(person: Person, index: int) -> Locator:
    """Returns a row of the list by its index, from 0."""
    return person.page.locator(f"[role=row][aria-rowindex='{index + 2}']")


def active_row(person: Person) -> Locator:
    """Returns the row with the keyboard focus, which is that of the grid."""
    named = "self::*[@id = ancestor::*/@aria-activedescendant]"
    return person.page.locator("[role=grid]:focus [role=row]").locator(f"xpath={named}")


def search(person: Person, text: str) -> None:
    """Types a text into the search box and presses Enter."""
    person.page.get_by_label("Search or filter").fill(text)
    person.page.keyboard.press("Enter")


def hold_answers(person: Person, part: str, method: str = "GET") -> None:
    """Holds the answers to requests with a part of a URL until the page calls `release()`.

    `held` counts them. The pages that are opened later do this.
    """
    person.page.add_init_script(
        f"""{{
          const send = window.fetch;
          const released = new Promise((resolve) => (window.release = resolve));
          window.held = 0;
          window.fetch = async (...args) => {{
            const response = await send(...args);
            const method = args[1]?.method ?? "GET";
            if (method === "{method}" && response.url.includes({json.dumps(part)})) {{
              window.held += 1;
              await released;
            }}
            return response;
          }};
        }}"""
    )


def test_keys_reach_every_row_with_few_elements(crowd: Person) -> None:
    keyboard = crowd.page.keyboard
    keyboard.press("j")
    expect(active_row(crowd)).to_contain_text("p1202@")
    keyboard.press("ArrowDown")
    expect(active_row(crowd)).to_contain_text("p1201@")
    keyboard.press("k")
    expect(active_row(crowd)).to_contain_text("p1202@")

    keyboard.press("End")

    expect(active_row(crowd)).to_contain_text("p0000@example.com")
    expect(active_row(crowd)).to_be_in_viewport()
    assert crowd.page.get_by_role("grid").get_attribute("aria-rowcount") == str(COUNT + 1)
    assert crowd.page.locator(".rows [role=row]").count() < 60
    keyboard.press("PageUp")
    expect(active_row(crowd)).not_to_contain_text("p0000@")
    keyboard.press("Home")
    expect(active_row(crowd)).to_contain_text("p1202@")


def test_following_pages_are_read_by_token(crowd: Person) -> None:
    page, addresses = crowd.page, list[str]()
    crowd.open("/subscribers?order=email")
    expect(row(crowd, 0)).to_contain_text("p0000@")
    page.on("request", lambda request: addresses.append(request.url))

    for index in range(0, 500, 50):
        page.get_by_role("grid").evaluate(f"grid => {{ grid.scrollTop = {index} * 36 }}")
        expect(row(crowd, index + 1)).to_contain_text(f"p{index + 1:04}@")

    pages = [address for address in addresses if "/api/subscribers?" in address]
    assert len(pages) >= 4
    assert all("pageToken=" in address for address in pages)


def test_scroll_position_survives_a_reload_and_back(crowd: Person) -> None:
    page = crowd.page
    page.get_by_role("grid").evaluate("grid => { grid.scrollTop = 600 * 36 }")
    expect(row(crowd, 601)).to_contain_text("p0601@")
    page.wait_for_url(re.compile(r"/subscribers#at=01\w{24}$"))

    page.reload()

    expect(row(crowd, 600)).to_contain_text("p0602@")
    expect(row(crowd, 600)).to_be_in_viewport()
    row(crowd, 600).click()
    page.wait_for_url(re.compile(r"/subscribers/01\w+#at=01\w{24}$"))
    page.go_back()
    expect(row(crowd, 600)).to_be_in_viewport()


@pytest.mark.parametrize(
    ("query", "index", "moved"),
    [
        ("", 600, 650),
        ("order=email+desc", 600, 600),
        ("filter=tags:early&order=email+asc", 200, 217),
    ],
)
def test_pasted_address_shows_the_same_person_at_the_top(
    person: Person, query: str, index: int, moved: int
) -> None:
    page, account = person.page, person.account
    add_people(account, COUNT)
    person.sign_in()
    person.open(f"/subscribers?{query}")
    page.get_by_role("grid").evaluate(f"grid => {{ grid.scrollTop = {index} * 36 }}")
    expect(row(person, index)).to_contain_text("@example.com")
    top = row(person, index).get_by_role("gridcell").nth(1).inner_text()
    page.wait_for_url(re.compile(r"#at=01\w{24}$"))
    address = page.url
    new = [
        {"email": f"a{number:02}@example.com", "tags": [("early", "vip", "vip")[number % 3]]}
        for number in range(50)
    ]
    account.ok("BulkCreateSubscribers", subscribers=new)

    page.goto("about:blank")
    page.goto(address)

    expect(row(person, moved)).to_contain_text(top)
    expect(row(person, moved)).to_be_in_viewport()
    expect(row(person, moved - 2)).not_to_be_in_viewport()


def test_tabs_show_and_select_the_statuses_of_the_current_filter(crowd: Person) -> None:
    page = crowd.page
    tabs = page.get_by_role("navigation", name="Status")
    expect(tabs.get_by_role("link", name="Confirmed 802")).to_be_visible()

    search(crowd, 'tags:"early"')

    expect(tabs.get_by_role("link", name="Confirmed 401")).to_be_visible()
    expect(tabs.get_by_role("link", name="Unconfirmed 0")).to_be_visible()
    tabs.get_by_role("link", name="Unconfirmed 0").click()
    expect(page.get_by_role("heading", name="No one matches")).to_be_visible()
    assert "status=UNCONFIRMED" in page.url
    assert "filter=tags" in page.url
    page.go_back()
    expect(row(crowd, 0)).to_contain_text("early")


def test_error_in_an_expression_is_shown_at_its_place_and_the_list_stays(crowd: Person) -> None:
    page = crowd.page
    search(crowd, "status = CONFIRMED AND plam = 3")

    alert = page.get_by_role("alert")
    expect(alert).to_contain_text("column 24")
    expect(alert.locator("mark")).to_have_text("plam")
    expect(row(crowd, 0)).to_contain_text("p1202@")
    # Screen readers read it once, and again with the field.
    box = page.get_by_label("Search or filter")
    expect(box).to_have_accessible_error_message(re.compile("column 24"))
    expect(box).to_have_accessible_description("")


def test_typing_searches_names_and_addresses(crowd: Person) -> None:
    page = crowd.page
    page.keyboard.press("/")
    page.keyboard.type("first77")

    expect(row(crowd, 10)).to_contain_text("p0077@example.com")
    expect(row(crowd, 11)).to_have_count(0)
    page.keyboard.press("Escape")
    expect(page.get_by_label("Search or filter")).to_have_value("")
    expect(row(crowd, 11)).to_be_visible()


def test_text_that_is_typed_as_soon_as_the_box_is_there_is_searched(crowd: Person) -> None:
    crowd.page.add_init_script(
        """new MutationObserver((_, observer) => {
          const box = document.getElementById("search");
          if (!box) return;
          observer.disconnect();
          box.value = "first77";
          box.dispatchEvent(new InputEvent("input", { bubbles: true }));
        }).observe(document, { childList: true, subtree: true })"""
    )

    crowd.page.reload()

    expect(row(crowd, 10)).to_contain_text("p0077@example.com")
    expect(crowd.page.get_by_label("Search or filter")).to_have_value("first77")


def test_pasting_an_address_anywhere_and_enter_opens_the_person(crowd: Person) -> None:
    page = crowd.page
    page.get_by_role("heading", name="Subscribers").evaluate(
        """heading => {
          const data = new DataTransfer();
          data.setData("text/plain", "Person <p0500@example.com>");
          const options = { clipboardData: data, bubbles: true, cancelable: true };
          heading.dispatchEvent(new ClipboardEvent("paste", options));
        }"""
    )
    expect(page.get_by_label("Search or filter")).to_be_focused()

    page.keyboard.press("Enter")

    panel = page.get_by_role("complementary", name="Person")
    expect(panel).to_contain_text("p0500@example.com")


def test_empty_list_offers_the_first_steps(person: Person) -> None:
    page = person.page
    person.sign_in()
    person.open("/subscribers")
    expect(page.get_by_role("link", name="Import a file")).to_be_visible()

    page.locator(".empty").get_by_role("button", name="Add a person").click()
    page.get_by_label("Email").fill("ada@example.com")
    page.keyboard.press("Enter")
    expect(row(person, 0)).to_contain_text("ada@example.com")


def test_read_only_session_reads_how_to_import_into_an_empty_list(person: Person) -> None:
    page = person.page
    person.sign_in(scope="read")
    person.open("/subscribers")
    expect(page.get_by_role("button", name="Add a person")).to_have_count(0)
    guide = page.get_by_role("link", name="How to import people")

    for path in ("/subscribers", "/"):
        person.open(path)
        url = guide.evaluate("link => link.href")
        response = page.request.get(url)
        assert response.status == 200, url


def test_exact_address_opens_also_if_another_begins_with_it(person: Person) -> None:
    for email in ("imp5@example.com", "imp5@example.com.au", "imp5@example.community"):
        add_person(person.account, email=email)
    person.sign_in()
    hold_answers(person, "/api/subscribers?")
    person.open("/subscribers")

    # The list without a search arrives after Enter, and before the list that was searched for.
    person.page.wait_for_function("() => window.held > 0")
    person.page.get_by_label("Search or filter").evaluate(
        """box => {
          box.value = "Imp5@example.com";
          box.dispatchEvent(new InputEvent("input", { bubbles: true }));
          box.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", bubbles: true }));
          window.release();
        }"""
    )

    panel = person.page.get_by_role("complementary", name="Person")
    expect(panel.get_by_role("heading", level=2)).to_have_text("imp5@example.com")


def test_search_that_finds_the_open_person_is_announced(person: Person) -> None:
    subscriber_id = add_person(person.account, email="ada@example.com")["id"]
    add_person(person.account, email="bob@example.com")
    announced = person.page.locator(".console > [role=status]")
    person.page.clock.install()
    person.sign_in()
    hold_answers(person, "/api/subscribers?")
    person.open(f"/subscribers/{subscriber_id}")
    expect(announced).to_contain_text("Not yet.")

    # The number of people in a list that arrives later does not replace the sentence.
    person.page.evaluate("window.release()")
    row(person, 0).wait_for()
    person.page.clock.run_for(5_000)
    expect(announced).to_contain_text("Not yet.")

    search(person, "ada@example.com")

    expect(announced).to_have_text("1 person")


def test_search_without_a_result_keeps_the_focus_and_one_that_was_left_opens_no_one(
    person: Person,
) -> None:
    page, box = person.page, person.page.get_by_label("Search or filter")
    add_people(person.account, 3)
    person.sign_in()
    hold_answers(person, "q=p0001")
    person.open("/subscribers")
    row(person, 0).wait_for()

    search(person, "missing")

    expect(page.get_by_role("heading", name="No one matches")).to_be_visible()
    expect(box).to_be_focused()

    search(person, "p0001@example.com")
    page.wait_for_function("() => window.held > 0")
    page.go_back()
    expect(page.get_by_role("heading", name="No one matches")).to_be_visible()
    page.go_forward()
    page.wait_for_function("() => window.held > 1")
    page.evaluate("window.release()")

    expect(row(person, 0)).to_contain_text("p0001@example.com")
    expect(box).to_have_value("p0001@example.com")
    expect(page.get_by_role("complementary", name="Person")).to_have_count(0)


def test_range_has_also_the_rows_that_were_not_loaded(crowd: Person) -> None:
    page = crowd.page
    bar = page.get_by_role("toolbar", name="Selection")
    page.keyboard.press("j")
    page.keyboard.press("x")
    page.keyboard.press("End")
    expect(active_row(crowd)).to_contain_text("p0000@example.com")

    # More than can be selected at once: none is skipped, and all that match are offered.
    page.keyboard.press("Shift+X")
    expect(page.locator(".notice")).to_contain_text("At most 1,000 rows")
    expect(bar).to_contain_text("1 selected")
    page.locator(".notice").get_by_role("button", name="Select all 1,203 that match").click()
    expect(bar).to_contain_text("1,203 selected")

    bar.get_by_role("button", name="Clear").click()
    page.get_by_role("grid").evaluate("grid => { grid.scrollTop = 700 * 36 }")
    expect(row(crowd, 701)).to_contain_text("p0501@")
    row(crowd, 701).locator(".check").click()
    page.get_by_role("grid").evaluate("grid => { grid.scrollTop = 0 }")
    row(crowd, 3).locator(".check").click(modifiers=["Shift"])
    expect(bar).to_contain_text("699 selected")
    with page.expect_download() as download:
        bar.get_by_role("button", name="Export…").click()
        page.get_by_role("dialog").get_by_role("button", name="Export 699 people").click()
    assert len(download.value.path().read_text().splitlines()) == 700

    bar.get_by_role("button", name="Clear").click()
    page.route("**/api/subscribers?*page=9*", lambda route: route.abort())
    row(crowd, 0).locator(".check").click()
    page.get_by_role("grid").evaluate("grid => { grid.scrollTop = 990 * 36 }")
    expect(row(crowd, 990)).to_contain_text("p0212@")
    row(crowd, 990).locator(".check").click(modifiers=["Shift"])
    expect(page.locator(".notice")).to_contain_text("Not all of these rows could be loaded.")
    expect(bar).to_contain_text("1 selected")


def test_address_restores_the_view(crowd: Person) -> None:
    page = crowd.page
    crowd.open("/subscribers?q=first1&status=CONFIRMED&order=email+asc&columns=tags")

    expect(row(crowd, 0)).to_contain_text("p0001@example.com")
    titles = page.get_by_role("columnheader")
    expect(titles).to_have_text(["", "Email", "Tags"])
    expect(page.get_by_label("Search or filter")).to_have_value("first1")
    assert titles.nth(1).get_attribute("aria-sort") == "ascending"


def test_columns_are_chosen_and_remembered(person: Person) -> None:
    person.account.ok("CreateCustomField", label="City")
    add_person(person.account, customFields={"city": "London"})
    person.sign_in()
    person.open("/subscribers")
    page = person.page

    page.get_by_role("button", name="Columns").click()
    page.get_by_label("City").check()
    page.get_by_label("Tags").uncheck()

    expect(row(person, 0)).to_contain_text("London")
    page.keyboard.press("Escape")
    person.open("/subscribers")
    titles = page.get_by_role("columnheader")
    expect(titles).to_have_text(["", "Email", "Name", "Status", "City", "Created"])


def test_rows_are_selected_with_keys_and_clicks(crowd: Person) -> None:
    page = crowd.page
    page.keyboard.press("j")
    page.keyboard.press("x")
    page.keyboard.press("Shift+ArrowDown")
    page.keyboard.press("Shift+ArrowDown")
    expect(page.get_by_role("toolbar")).to_contain_text("3 selected")
    assert row(crowd, 2).get_attribute("aria-selected") == "true"
    row(crowd, 2).locator(".check").click()
    expect(page.get_by_role("toolbar")).to_contain_text("2 selected")

    page.keyboard.press("Control+a")

    expect(page.get_by_role("toolbar")).to_contain_text("100 selected")
    page.keyboard.press("Escape")
    expect(page.get_by_role("toolbar")).to_have_count(0)

    # The box of the header: with the mouse, and with the keys that lead to it from the rows.
    box = page.get_by_role("checkbox", name="Select all loaded rows")
    box.click()
    expect(page.get_by_role("toolbar")).to_contain_text("100 selected")
    expect(box).to_be_checked()
    row(crowd, 1).locator(".check").click()
    expect(page.get_by_role("toolbar")).to_contain_text("99 selected")
    expect(box).to_be_checked(indeterminate=True)
    page.keyboard.press("Home")
    page.keyboard.press("ArrowUp")
    expect(box).to_be_focused()
    page.keyboard.press("Space")
    page.get_by_role("button", name="Select all 1,203 that match").click()
    expect(page.get_by_role("toolbar")).to_contain_text("1,203 selected")
    expect(box).to_be_checked()
    box.click()
    expect(page.get_by_role("toolbar")).to_have_count(0)
    expect(box).not_to_be_checked()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Space")
    expect(page.get_by_role("columnheader").nth(1)).to_have_attribute("aria-sort", "ascending")
    expect(row(crowd, 0)).to_contain_text("p0000@")
    page.keyboard.press("ArrowDown")
    expect(active_row(crowd)).to_contain_text("p0000@")


@pytest.mark.parametrize(
    "person", [{"permissions": ["clipboard-read", "clipboard-write"]}], indirect=True
)
def test_address_of_the_active_row_is_copied(person: Person) -> None:
    add_people(person.account, 3)
    person.sign_in()
    person.open("/subscribers")
    page = person.page
    row(person, 0).wait_for()

    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("c")
    expect(page.get_by_text("Copied").first).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == "p0001@example.com"
    page.keyboard.press("y")
    page.wait_for_function("navigator.clipboard.readText().then(text => text.startsWith('curl'))")


def test_values_of_people_are_shown_as_text(person: Person) -> None:
    markup = "<img src=x onerror=alert(1)>"
    add_person(person.account, firstName=markup, lastName="شخص", tags=[markup, "x" * 100])
    person.sign_in()
    person.open("/subscribers")

    expect(row(person, 0)).to_contain_text(f"{markup} شخص")
    assert person.page.locator("img").count() == 0
    width = "document.documentElement.scrollWidth <= innerWidth"
    for size in (320, 1280):
        person.page.set_viewport_size({"width": size, "height": 800})
        assert person.page.evaluate(width)


def test_tags_are_shown_as_far_as_they_fit(person: Person) -> None:
    tags = ["customer", "newsletter", "partner", "workshop 2026"]
    add_person(person.account, tags=tags)
    person.sign_in()
    person.open("/subscribers")
    cell = row(person, 0).locator(".tags")

    person.page.set_viewport_size({"width": 1000, "height": 800})
    expect(cell).to_have_text("customer+3")
    # One that was added comes first.
    row(person, 0).click()
    person.page.get_by_label("Add a tag").fill("zero")
    person.page.keyboard.press("Enter")
    expect(person.page.get_by_role("button", name="Remove tag zero")).to_be_visible()
    person.page.get_by_role("button", name="Close").click()
    expect(cell).to_have_text("zero+4")
    tags.insert(0, "zero")
    person.page.set_viewport_size({"width": 2400, "height": 800})
    expect(cell).to_have_text("".join(tags))


def test_list_comes_back_after_the_connection_was_lost(crowd: Person) -> None:
    page = crowd.page
    page.route("**/api/**", lambda route: route.abort())
    page.route("**/readyz", lambda route: route.abort())
    page.get_by_role("grid").evaluate("grid => { grid.scrollTop = 900 * 36 }")
    expect(page.get_by_text("Roster does not respond. Showing")).to_be_visible()

    page.unroute_all()

    expect(row(crowd, 901)).to_contain_text("p0301@")
    expect(page.get_by_text("Roster does not respond. Showing")).to_have_count(0)


def test_ended_session_leads_back_to_the_same_address(crowd: Person) -> None:
    page = crowd.page
    crowd.open("/subscribers?q=first77")
    expect(row(crowd, 0)).to_be_visible()
    crowd.account.ok("SignOutEverywhere")
    # Another request can have covered the page already.
    page.get_by_role("columnheader", name="Email").get_by_role("button").dispatch_event("click")

    expect(page.locator(".cover").get_by_text("Your session ended")).to_be_visible()
    page.get_by_label("Sign-in link or API key").fill(crowd.account.key)
    page.keyboard.press("Enter")

    expect(row(crowd, 0)).to_contain_text("p0077@example.com")


def test_shortcuts_are_listed_and_letters_can_be_switched_off(crowd: Person) -> None:
    page = crowd.page
    page.keyboard.press("?")
    dialog = page.get_by_role("dialog", name="Keyboard shortcuts")
    expect(dialog).to_contain_text("Next row")
    dialog.get_by_label("Single letters are shortcuts").uncheck()
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)

    page.keyboard.press("j")
    expect(page.locator("[aria-activedescendant]")).to_have_count(0)
    page.keyboard.press("ArrowDown")
    expect(active_row(crowd)).to_contain_text("p1202@")


def test_keys_that_need_a_row_are_listed_apart(crowd: Person) -> None:
    page = crowd.page
    dialog = page.get_by_role("dialog", name="Keyboard shortcuts")
    others = dialog.get_by_role("region", name="With a row, a selection or a person")

    page.keyboard.press("?")
    expect(others).to_contain_text("Copy address")
    expect(others).to_contain_text("Next person")
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    page.keyboard.press("j")
    page.keyboard.press("?")

    expect(dialog).to_contain_text("Copy address")
    expect(others).not_to_contain_text("Copy address")
    expect(others).to_contain_text("Next person")


def test_key_that_needs_alt_on_the_keyboard_works(crowd: Person) -> None:
    page = crowd.page
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    expect(page.get_by_role("complementary")).to_contain_text("p1202@example.com")

    # Option+6 on a German Mac, AltGr+9 on Windows; the browser reports the character.
    for key, modifiers in (("]", {"altKey": True}), ("]", {"altKey": True, "ctrlKey": True})):
        page.evaluate(
            """options => document.activeElement.dispatchEvent(
              new KeyboardEvent("keydown", { ...options, bubbles: true, cancelable: true }))""",
            {"key": key, **modifiers},
        )

    expect(page.get_by_role("complementary")).to_contain_text("p1200@example.com")
    # With Alt, a letter is a key of the browser or of a menu.
    page.keyboard.press("Alt+j")
    expect(page.get_by_role("complementary")).to_contain_text("p1200@example.com")


def test_key_that_follows_the_end_of_a_dialog_at_once_works(crowd: Person) -> None:
    dialog = crowd.page.get_by_role("dialog", name="Keyboard shortcuts")
    for key, control in (("ArrowDown", False), ("k", True)):
        crowd.page.keyboard.press("?")
        # The closed dialog is removed, and loses the focus, only later.
        dialog.evaluate(
            """(dialog, [key, ctrlKey]) => {
              dialog.close();
              const options = { key, ctrlKey, bubbles: true, cancelable: true };
              dialog.querySelector("input").dispatchEvent(new KeyboardEvent("keydown", options));
            }""",
            [key, control],
        )
        expect(crowd.page.locator("dialog", has_text="Next row")).to_have_count(0)

        if key == "ArrowDown":
            expect(active_row(crowd)).to_contain_text("p1202@")
    expect(crowd.page.get_by_role("dialog", name="Commands and go to")).to_be_visible()


def test_list_is_accessible(crowd: Person) -> None:
    crowd.check_accessibility()
    crowd.page.keyboard.press("j")
    crowd.page.keyboard.press("x")
    crowd.check_accessibility()
    search(crowd, "plam = 3")
    expect(crowd.page.get_by_role("alert")).to_be_visible()
    crowd.check_accessibility()


@pytest.mark.parametrize("person", [{"locale": "de-AT"}], indirect=True)
def test_legend_explains_statuses_and_who_may_be_mailed(person: Person) -> None:
    page = person.page
    person.sign_in()
    person.open("/subscribers")
    page.get_by_role("button", name="Was die Status bedeuten").click()

    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("Nur bestätigte Personen dürfen E-Mails erhalten.")
    expect(dialog.get_by_role("term")).to_have_text(
        ["Bestätigt", "Unbestätigt", "Abgemeldet", "Unzustellbar", "Beschwerde"]
    )
    person.check_accessibility()
    page.keyboard.press("Escape")
    expect(page.get_by_role("button", name="Was die Status bedeuten")).to_be_focused()
