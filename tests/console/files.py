"""Files for tests of imports in the console, and the parts of a page to which they are given."""

from __future__ import annotations

from playwright.sync_api import FilePayload, Locator, Page

_DROP = """([name, text]) => {
  const data = new DataTransfer();
  data.items.add(new File([text], name));
  const options = { dataTransfer: data, bubbles: true, cancelable: true };
  for (const type of ["dragenter", "dragover", "drop"]) {
    document.body.dispatchEvent(new DragEvent(type, options));
  }
}"""


def drop(page: Page, text: str, name: str = "members.csv") -> None:
    """Drops a file on the page, as a person does with the mouse."""
    page.evaluate(_DROP, [name, text])


def payload(content: str | bytes, name: str = "members.csv") -> FilePayload:
    """Returns a file to choose with a button."""
    data = content if isinstance(content, bytes) else content.encode()
    return {"name": name, "mimeType": "text/csv", "buffer": data}


def mailchimp(count: int) -> str:
    """Returns an export of confirmed contacts of Mailchimp."""
    columns = "OPTIN_TIME,CONFIRM_TIME,CONFIRM_IP,LEID,EUID,TAGS"
    header = f'"Email Address","First Name",MEMBER_RATING,{columns}'
    dates = '"2020-01-01 10:00:00","2020-01-01 10:05:00"'
    rows = [
        f'm{number}@example.com,Ada,2,{dates},192.0.2.1,{number},a{number},"""vip"""'
        for number in range(count)
    ]
    return "\n".join([header, *rows, ""])


def large(megabytes: int) -> bytes:
    """Returns a CSV file of at least so many MiB."""
    row = b"p%07d@example.com," + b"x" * 100 + b"," + b"y" * 100 + b"\n"
    rows = megabytes * (1 << 20) // len(row % 0) + 1
    return b"email,firstName,lastName\n" + b"".join(row % number for number in range(rows))


def button(page: Page, name: str) -> Locator:
    return page.get_by_role("button", name=name)


def choose_file(page: Page, content: str | bytes, name: str = "members.csv") -> None:
    page.locator("input[type=file]").set_input_files(payload(content, name))


def state(page: Page) -> Locator:
    return page.locator(".page-head .state")
