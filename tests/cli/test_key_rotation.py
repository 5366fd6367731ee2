"""roster secret-key rotate."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from rosterd.server.features.accounts.rules import make_secret as make_api_key
from rosterd.server.security.encryption import Encryption, make_key, parse_key
from rosterd.server.security.links import MAX_LINK_KEYS
from rosterd.server.serving import key_rotation
from rosterd.server.serving.console import ExitCode
from rosterd.server.serving.key_rotation import begin_rotation, finish_rotation, rotate_file
from rosterd.server.serving.secret_key import DataKeys, available_data_keys, encrypt_keys, key_file
from rosterd.server.storage import installation, output_file
from rosterd.server.storage.database import StorageError
from rosterd.server.storage.databases import unit_of_work
from rosterd.server.storage.installation import SECRET_KEY, Installation, save_keys, stored_keys
from rosterd.server.values.database_url import parse_database_url

from ..components import child_processes, free_port, launch, wait_until, wait_until_ready
from ..conftest import Account, new_account
from ..fronts import HttpFront
from ..load import Load, create
from ..postgres import Postgres
from ..processes import Service, start
from .commands import Done, error_line, roster

KEYS = bytes(range(32))
# Runs the command line, and reads the data keys again without a pause.
WITHOUT_PAUSE = """
from rosterd.server.maintenance import tasks
tasks.DATA_KEY_INTERVAL = 0.05
from rosterd.server.cli import main
main()
"""
# Modules whose lines are the steps of a rotation.
STEPS = {module.__file__ for module in (installation, key_rotation, output_file)}


def output_of(done: Done) -> Any:
    """Returns the JSON that a command printed. It must succeed."""
    assert (done.returncode, done.stderr) == (0, "")
    return json.loads(done.stdout)


@dataclass
class Database:
    """A database that was served, and the setting with its secret key; empty for a file."""

    url: str
    setting: str

    @property
    def location(self) -> Any:
        return parse_database_url(self.url)

    @property
    def file(self) -> Path:
        return key_file(self.location)

    @property
    def begin(self) -> Any:
        return partial(unit_of_work, self.url, must_exist=True)

    def data_keys(self) -> DataKeys | None:
        """Returns the data keys. Raises StorageError if the secret key does not open them."""
        with self.begin() as tx:
            return available_data_keys(self.setting, self.location, tx)

    def secret_keys(self) -> int:
        """Returns the number of secret keys that open the database."""
        with self.begin() as tx:
            return len(stored_keys(tx))

    def rotate(self, *arguments: str, **settings: str) -> Done:
        settings = {"ROSTER_DATABASE_URL": self.url, "ROSTER_SECRET_KEY": self.setting, **settings}
        return roster("secret-key", "rotate", *arguments, **settings)

    def begin_rotation(self, *arguments: str) -> str:
        """Begins a rotation of the setting, and returns the new key."""
        done = output_of(self.rotate("--json", *arguments))
        assert not done["isFinished"]
        return str(done["secretKey"])


@pytest.fixture(params=["file", "setting", "postgres"])
def database(request: pytest.FixtureRequest, tmp_path: Path, empty_file: Path) -> Database:
    key, url = make_key(), f"sqlite:///{shutil.copy(empty_file, tmp_path)}"
    if request.param == "file":
        (tmp_path / "roster.db.key").write_text(key)
    elif request.param == "postgres":
        url = request.getfixturevalue("postgres").new_roster()
    with unit_of_work(url) as tx:
        save_keys(encrypt_keys(parse_key(key) or b"", DataKeys(KEYS)), tx)
    return Database(url, "" if request.param == "file" else key)


on_files = pytest.mark.parametrize("database", ["file"], indirect=True)
on_settings = pytest.mark.parametrize("database", ["setting", "postgres"], indirect=True)


def finish(database: Database) -> None:
    done = database.rotate("--finish")
    assert (done.returncode, done.stderr) == (0, "")


@on_files
def test_key_file_is_replaced_and_the_previous_one_is_kept(database: Database) -> None:
    before = database.file.read_text().strip()
    database.file.chmod(0o640)

    done = output_of(database.rotate("--json"))

    kept = Path(done["previousKeyFile"])
    assert done["isFinished"]
    assert kept.read_text().strip() == before != database.file.read_text().strip()
    assert database.file.stat().st_mode & 0o777 == 0o640
    assert (database.data_keys(), database.secret_keys()) == (DataKeys(KEYS), 1)
    with pytest.raises(StorageError, match="another secret key"):
        Database(database.url, before).data_keys()


@on_settings
def test_both_keys_open_the_database_until_the_rotation_is_finished(database: Database) -> None:
    new = Database(database.url, database.begin_rotation())
    assert database.data_keys() == new.data_keys() == DataKeys(KEYS)
    assert "newer secret key" in error_line(database.rotate("--finish"), ExitCode.DATABASE)

    finish(new)

    assert new.data_keys() == DataKeys(KEYS)
    line = error_line(database.rotate("--finish"), ExitCode.DATABASE)
    assert "requires another secret key than that in ROSTER_SECRET_KEY" in line
    assert "No rotation is unfinished." in new.rotate("--finish").stdout


@on_settings
def test_new_key_can_be_given_and_is_then_not_printed(database: Database, tmp_path: Path) -> None:
    new = make_key()
    (tmp_path / "new").write_text(f"{new}\n")

    done = database.rotate(ROSTER_NEW_SECRET_KEY_FILE=str(tmp_path / "new"))

    assert (done.returncode, new in done.stdout) == (0, False)
    assert "ROSTER_SECRET_KEY" in done.stdout
    assert Database(database.url, new).data_keys() == DataKeys(KEYS)
    again = database.rotate(ROSTER_NEW_SECRET_KEY=database.setting)
    assert "already opens" in error_line(again, ExitCode.DATABASE)
    wrong = database.rotate(ROSTER_NEW_SECRET_KEY="mistyped")
    assert "ROSTER_NEW_SECRET_KEY must be 32 bytes" in error_line(wrong, ExitCode.USAGE)


@on_settings
def test_rotation_that_begins_again_replaces_the_new_key(database: Database) -> None:
    lost = Database(database.url, database.begin_rotation("--new-link-key"))
    new = Database(database.url, database.begin_rotation())

    assert database.data_keys() == new.data_keys() == DataKeys(KEYS)
    with pytest.raises(StorageError, match="another secret key"):
        lost.data_keys()
    assert database.secret_keys() == 2


@pytest.mark.parametrize(
    "database",
    ["file", "setting", pytest.param("postgres", marks=pytest.mark.verify)],
    indirect=True,
)
def test_new_link_key_is_used_when_the_rotation_is_finished(database: Database) -> None:
    def numbers() -> tuple[int, int]:
        """Returns the number of keys of links, and that of the key for new links."""
        keys = database.data_keys()
        assert keys is not None
        assert keys.keys[:32] == KEYS
        return len(keys.keys) // 32, keys.link_key

    for number in range(1, MAX_LINK_KEYS):
        if database.setting:
            new = database.begin_rotation("--new-link-key")
            assert numbers() == (number, number - 1)
            database = Database(database.url, new)
            assert numbers() == (number + 1, number - 1)
            finish(database)
        else:
            assert database.rotate("--new-link-key").returncode == 0
        assert numbers() == (number + 1, number)
    line = error_line(database.rotate("--new-link-key"), ExitCode.DATABASE)
    assert "maximum of 16 keys of links" in line
    assert database.rotate().returncode == 0


def killed_at(line: int, work: Callable[[], object]) -> bool:
    """Runs the work in a process that is killed before so many lines. Returns whether it ended."""
    child = os.fork()
    if child:
        _, status = os.waitpid(child, 0)
        assert status in (0, signal.SIGKILL)
        return status == 0

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal line
        if frame.f_code.co_filename not in STEPS:
            return None
        line -= event == "line"
        if not line:
            os.kill(os.getpid(), signal.SIGKILL)
        return trace

    try:
        sys.settrace(trace)
        work()
        os._exit(0)
    finally:
        os._exit(1)


def kill_at_each_line(work: Callable[[], object], check: Callable[[], object]) -> int:
    """Kills the work before each of its lines, until it ends. Returns the number of kills."""
    line = 1
    while not killed_at(line, work):
        check()
        line += 1
    check()
    return line - 1


@pytest.mark.verify
@on_files
def test_killed_rotation_of_a_file_leaves_a_database_that_the_file_opens(
    database: Database,
) -> None:
    def opened() -> bytes:
        keys = database.data_keys()
        assert keys is not None
        assert keys.keys[:32] == KEYS
        return keys.keys

    def work() -> None:
        can_add = len(opened()) < 32 * MAX_LINK_KEYS
        file, location = database.file, database.location
        rotate_file(file, location, make_key(), database.begin, new_link_key=can_add)

    assert kill_at_each_line(work, opened) > 40
    assert database.secret_keys() == 1


@pytest.mark.verify
@on_settings
def test_killed_rotation_of_a_setting_leaves_a_database_that_the_setting_opens(
    database: Database,
) -> None:
    new = Database(database.url, make_key())
    rotate = partial(begin_rotation, database.setting, database.location, new.setting)

    def both_open() -> None:
        assert database.data_keys() == DataKeys(KEYS)

    kills = kill_at_each_line(lambda: rotate(database.begin, new_link_key=False), both_open)
    both_open()
    assert new.data_keys() == DataKeys(KEYS)
    kills += kill_at_each_line(
        lambda: finish_rotation(new.setting, new.location, new.begin),
        lambda: new.data_keys() == DataKeys(KEYS) or pytest.fail("the new key does not open it"),
    )

    assert kills > 30
    assert new.secret_keys() == 1


def test_first_secret_key_of_an_earlier_release_remains_the_data_key(tmp_path: Path) -> None:
    key = make_key()
    before = Database(f"sqlite:///{tmp_path / 'roster.db'}", key)
    secret = parse_key(key) or b""
    with unit_of_work(before.url) as tx:
        row = {"name": SECRET_KEY, "value": Encryption(secret).fingerprint()}
        Installation.insert(row).bind(tx.raw()).execute()
    assert before.data_keys() == DataKeys(secret)
    finish(before)
    assert before.data_keys() == DataKeys(secret)

    after = Database(before.url, before.begin_rotation())

    assert before.data_keys() == after.data_keys() == DataKeys(secret)
    finish(after)
    assert after.data_keys() == DataKeys(secret)
    with after.begin() as tx:
        fact = tx.raw().execute_sql("SELECT value FROM installation").fetchone()[0]
    # What the earlier release compares with the fingerprints of its keys.
    keys = [Encryption(parse_key(each) or b"") for each in (key, after.setting)]
    assert fact not in [each.fingerprint() for each in keys]


def test_database_that_was_never_served_has_no_key_to_rotate(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'roster.db'}"
    with unit_of_work(url):
        pass

    assert "no secret key yet" in error_line(Database(url, make_key()).rotate(), ExitCode.DATABASE)
    assert "no secret key yet" in error_line(Database(url, "").rotate(), ExitCode.DATABASE)
    assert not [path for path in tmp_path.iterdir() if ".key" in path.name]


@on_files
def test_backup_requires_the_key_of_its_time(database: Database, tmp_path: Path) -> None:
    settings, backup = {"ROSTER_DATABASE_URL": database.url}, str(tmp_path / "backup.db")
    assert roster("backup", backup, **settings).returncode == 0
    previous = output_of(database.rotate("--json"))["previousKeyFile"]
    newer = str(tmp_path / "newer.db")
    assert roster("backup", newer, **settings).returncode == 0

    for name, right, wrong in (
        (backup, previous, str(database.file)),
        (newer, str(database.file), previous),
    ):
        for command in (("backup", "--verify"), ("restore",)):
            done = roster(*command, "--json", name, **settings, ROSTER_SECRET_KEY_FILE=wrong)
            assert "another secret key" in error_line(done, ExitCode.DATABASE)
            done = roster(*command, "--json", name, **settings, ROSTER_SECRET_KEY_FILE=right)
            assert output_of(done)["hasKey"]
        with database.begin() as tx:
            restored = available_data_keys(Path(right).read_text(), database.location, tx)
        assert restored == DataKeys(KEYS)


# Services


def link_urls(account: Account) -> list[str]:
    """Returns the paths of the links that confirm and unsubscribe."""
    links = account.ok("CreateSubscriberLinks", id="ada@example.com")["links"]
    return [link["url"].partition(account.service.http)[2] for link in links]


def submit(service: Service, link: str) -> int:
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    return HttpFront("http", service.http).exchange("POST", link, body=b"", headers=headers)[0]


def test_running_service_uses_a_new_link_key_and_accepts_links_of_the_previous_one(
    tmp_path: Path,
) -> None:
    service = start(tmp_path, code=WITHOUT_PAUSE)
    try:
        account = new_account(service, HttpFront("http", service.http))
        account.ok("CreateSubscriber", email="ada@example.com")
        account.ok("CreateSubscriber", email="bob@example.com")
        account.ok("ChangeSubscriberStatus", id="bob@example.com", status="UNSUBSCRIBED")
        account.ok("DeleteSubscriber", id="bob@example.com")
        confirm, unsubscribe = link_urls(account)

        done = Database(service.database_url, "").rotate("--new-link-key")
        assert "earlier links that confirm do not" in done.stdout
        wait_until(lambda: link_urls(account)[1] != unsubscribe, "the link key is not used")

        new_confirm, new_unsubscribe = link_urls(account)
        links = (confirm, new_confirm, unsubscribe)
        assert [submit(service, link) for link in links] == [404, 200, 200]
    finally:
        code = service.stop()
    assert (code, service.traces()) == (0, [])

    again = start(tmp_path)
    try:
        assert [submit(again, link) for link in (unsubscribe, new_unsubscribe)] == [200, 200]
        account = Account(account.id, account.key, HttpFront("http", again.http), again)
        account.fails("SubscriberSuppressed", "CreateSubscriber", email="bob@example.com")
    finally:
        assert again.stop() == 0


@pytest.mark.verify
def test_rotation_on_several_machines_fails_no_request(postgres: Postgres, tmp_path: Path) -> None:
    api_key = make_api_key()
    addresses = [f"127.0.0.1:{free_port()}" for _ in range(2)]
    database = Database(postgres.new_roster(), make_key())
    settings = [
        {
            "ROSTER_DATABASE_URL": database.url,
            "ROSTER_HTTP_ADDRESS": address,
            "ROSTER_BOOTSTRAP_API_KEY": api_key,
        }
        for address in addresses
    ]

    def start_with(number: int, key: str) -> Service:
        (folder := tmp_path / str(number)).mkdir(exist_ok=True)
        return start(folder, code=WITHOUT_PAUSE, ROSTER_SECRET_KEY=key, **settings[number])

    services = [start_with(number, database.setting) for number in range(2)]
    load = Load(addresses, api_key)
    try:
        with load.running(create, create, create):
            load.wait_for_more(10)
            new = Database(database.url, database.begin_rotation("--new-link-key"))
            for number in range(2):
                # A process that ends by itself starts again with the previous setting.
                for key in (database.setting, new.setting):
                    assert services[number].stop() == 0
                    services[number] = start_with(number, key)
                    load.wait_for_more(10)
            finish(new)
            load.wait_for_more(10)
    finally:
        codes = [service.stop() for service in services]

    assert (codes, load.failed()) == ([0, 0], [])
    assert [service.traces() for service in services] == [[], []]
    keys = new.data_keys()
    assert keys is not None
    assert keys.link_key == 1


@pytest.mark.verify
def test_process_with_the_previous_key_continues_and_its_replacement_names_the_reason(
    postgres: Postgres, tmp_path: Path
) -> None:
    database = Database(postgres.new_roster(), make_key())
    settings = {"ROSTER_DATABASE_URL": database.url, "ROSTER_SECRET_KEY": database.setting}
    log = tmp_path / "log"
    fleet = launch("serve", log, code=WITHOUT_PAUSE, **settings, ROSTER_PROCESSES="2")
    try:
        wait_until_ready(fleet)
        new = Database(database.url, database.begin_rotation())
        finish(new)
        wait_until(lambda: "secret key failed" in log.read_text(), "the process does not notice")
        os.kill(child_processes(fleet.process.pid)[0], signal.SIGKILL)
        replaced = "requires another secret key than that in ROSTER_SECRET_KEY. After a rotation"
        wait_until(lambda: "exited with 4" in log.read_text(), "it is not replaced")
        assert replaced in log.read_text()
    finally:
        assert fleet.stop() == 0
