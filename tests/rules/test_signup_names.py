"""Names of sign-ups: what mail programs show as a link is rejected, names of people are not."""

from __future__ import annotations

import pytest

from rosterd.server.features.signups.rules import has_link

LINKS = [
    "http://spam.example",
    "HTTPS://spam",
    "https:spam.ru",
    "hello //spam",
    "www.spam",
    "WWW2.Spam",
    "Example.com",
    "example.com/win",
    "Win money at win-money.ru now",
    "win-money.ru!",
    "(win-money.ru)",
    "“win-money.ru”",
    "example.com.",
    "EXAMPLE.COM",
    "Bit.Ly/win",
    "t.me/x",
    "T.Me/x",
    "j.kim:8080",
    "Cheap.loans",
    "a.b.casino",
    "spam\uff0ecom",
    "spam\u3002com",
    "spam\uff61com",
    "\uff53\uff50\uff41\uff4d\uff0e\uff43\uff4f\uff4d",
    "spam\u200b.\u2060com",
    "ht\u00adtp://spam",
    "пример.рф",
    "例子.中国",
    "अच्छा.भारत",
    "xn--e1afmkfd.xn--p1ai",
    "[win](spam)",
    "[win] (spam)",
    "<a href=spam>win</a>",
    "ada@example.com",
    "mailto:ada",
    "192.168.0.1",
    "O'Neil.com",
]
NAMES = [
    "",
    "Ada",
    "J. R. Smith",
    "J.R. Smith",
    "J.R.R.Tolkien",
    "Dr.Smith",
    "dr.smith",
    "Dr. Smith",
    "Prof.Dr.Weber",
    "St. John",
    "St.John",
    "O'Neil",
    "D’Angelo",
    "Jean-Luc",
    "Mary.Ann",
    "mary.ann",
    "J.Kim",
    "Dr.Fox",
    "A.Li",
    "Martin Luther King, Jr.",
    "Ada Lovelace, Ph.D.",
    "M.Sc. B.Eng.",
    "Ngũgĩ wa Thiong'o",
    "Gal·la",
    "И.Иванов",
    "毛泽东",
    "أحمد",
    "می\u200cخواهم",
    "Ada & Bob",
    "c/o Smith",
    "Ada/Bob",
    "Smith (Jones)",
    "Ada: the first",
    "No.1",
    "3.14",
    "S.A.",
    "...",
    "Www",
    "Nguyễn Văn A.",
    "@ada",
    "I <3 mail",
]


@pytest.mark.parametrize("name", LINKS)
def test_names_with_links_are_recognized(name: str) -> None:
    assert has_link(name)
    assert has_link(f"Ada {name} Lovelace")


@pytest.mark.parametrize("name", NAMES)
def test_names_of_people_have_no_links(name: str) -> None:
    assert not has_link(name)
    assert not has_link(f"Ada {name} Lovelace")
