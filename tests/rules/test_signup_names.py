"""Names of sign-ups: what mail programs show as a link is rejected, names of people are not."""

from __future__ import annotations

from rosterd.server.features.signups.rules import has_link

from ..cases import each

LINKS = [
    "http://spam.example",
    "https:spam.ru",
    "www.spam",
    "Example.com",
    "example.com/win",
    "Win money at win-money.ru now",
    "“win-money.ru”",
    "example.com.",
    "Bit.Ly/win",
    "t.me/x",
    "j.kim:8080",
    "Cheap.loans",
    "spam\u3002com",
    "spam\uff61com",
    "\uff53\uff50\uff41\uff4d\uff0e\uff43\uff4f\uff4d",
    "spam\u200b.\u2060com",
    "ht\u00adtp://spam",
    "пример.рф",
    "अच्छा.भारत",
    "[win](spam)",
    "<a href=spam>win</a>",
    "ada@example.com",
    "192.168.0.1",
    "O'Neil.com",
]
NAMES = [
    "Ada",
    "J.R.R.Tolkien",
    "dr.smith",
    "Dr. Smith",
    "Prof.Dr.Weber",
    "St.John",
    "O'Neil",
    "Jean-Luc",
    "mary.ann",
    "J.Kim",
    "Martin Luther King, Jr.",
    "Ada Lovelace, Ph.D.",
    "M.Sc. B.Eng.",
    "Gal·la",
    "И.Иванов",
    "می\u200cخواهم",
    "Ada & Bob",
    "c/o Smith",
    "Smith (Jones)",
    "Ada: the first",
    "No.1",
    "3.14",
    "Www",
    "Nguyễn Văn A.",
    "I <3 mail",
]


@each("name", LINKS)
def test_names_with_links_are_recognized(name: str) -> None:
    assert has_link(name)
    assert has_link(f"Ada {name} Lovelace")


@each("name", NAMES)
def test_names_of_people_have_no_links(name: str) -> None:
    assert not has_link(name)
    assert not has_link(f"Ada {name} Lovelace")
