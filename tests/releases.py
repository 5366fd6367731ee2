"""Finds releases in the history of the checkout, and extracts their files."""

from __future__ import annotations

import io
import re
import shutil
import subprocess
import tarfile
from pathlib import Path

from .documents import ROOT


def versions() -> list[str]:
    """Returns the released versions, the newest first."""
    return re.findall(r"^## \[(\d\S*)\]", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)


def commit_of(version: str) -> str:
    """Returns the commit of a release, or an empty text if the checkout does not have it."""
    # A checkout may have no tags.
    by_subject = ("log", "-1", "--format=%H", f"--grep=^Release {re.escape(version)}$")
    by_tag = ("rev-parse", "--verify", "--quiet", f"refs/tags/v{version}^{{commit}}")
    if shutil.which("git") is None:
        return ""
    found = (
        subprocess.run(["git", *find], cwd=ROOT, capture_output=True, text=True, timeout=60)
        for find in (by_tag, by_subject)
    )
    return next((each.stdout.strip() for each in found if each.stdout.strip()), "")


def extract(commit: str, folder: Path, *names: str) -> None:
    """Writes files and folders of a commit into a folder."""
    archived = subprocess.run(
        ["git", "archive", commit, *names], cwd=ROOT, capture_output=True, check=True, timeout=60
    )
    with tarfile.open(fileobj=io.BytesIO(archived.stdout)) as files:
        files.extractall(folder, filter="data")
