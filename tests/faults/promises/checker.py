"""Holds a store to what clients were told."""

from __future__ import annotations

from .contents import Contents
from .recorder import Operation, Outcome, Recorder

Figures = dict[str, float]

# What there has to be none of, beside whatever figures a promise has of its own.
NONE: Figures = dict.fromkeys(
    (
        "lost",
        "undone yet there",
        "in half",
        "duplicates",
        "without their records",
        "answered in two ways",
        "unexpected answers",
        "nobody's",
        "unequal",
        "damages",
    ),
    0,
)


def check(recorder: Recorder, contents: Contents) -> Figures:
    """Counts the operations by what is known of them, and everything that must not be.

    Whatever was acknowledged is there, once; what failed is not there; what nobody can tell is
    there or not, as a whole. An operation that is there has its kept answer, and no other has;
    that answer is always the same and tells of what is there.
    """
    figures: Figures = {
        "operations": len(recorder.outcomes),
        "acknowledged": len(recorder.those(Outcome.OK)),
        "unknown for a while": len(recorder.doubted),
        **NONE,
        "unexpected answers": len(recorder.wrong),
        "unequal": contents.unequal,
        "damages": len(contents.damages),
    }
    for operation, outcome in list(recorder.outcomes.items()):
        _check_one(operation, outcome, contents, figures)
        figures["answered in two ways"] += _differing(operation, recorder, contents)
    known = {name for operation in recorder.outcomes for name in operation.makes}
    figures["nobody's"] = len({name for name in contents.made if "." in name} - known)
    return figures


def _check_one(
    operation: Operation, outcome: Outcome, contents: Contents, figures: Figures
) -> None:
    found = [contents.made[name] for name in operation.makes]
    figures["lost"] += outcome is Outcome.OK and found.count(0)
    figures["undone yet there"] += outcome is Outcome.FAILED and any(found)
    figures["in half"] += any(found) and not all(found)
    figures["duplicates"] += sum(count > 1 for count in found)
    figures["without their records"] += any(found) != (operation.key in contents.kept)


def _differing(operation: Operation, recorder: Recorder, contents: Contents) -> int:
    """Returns how many answers are not the first, or tell of another id than the store has."""
    answers = recorder.answers.get(operation, [])
    differing = sum(answer != answers[0] for answer in answers[1:])
    ids = [
        answer[name]["id"]
        for answer in answers[:1]
        for name in ("subscriber", "apiKey")
        if name in answer
    ]
    return differing + sum(each != contents.ids.get(operation.makes[0]) for each in ids)


def total(one: Figures, other: Figures) -> Figures:
    """Returns the sums of the figures of two runs."""
    return {name: one.get(name, 0) + other.get(name, 0) for name in one | other}


def broken(figures: Figures, at_most: Figures) -> Figures:
    """Returns those of the figures that are more than they may be."""
    return {name: figures[name] for name, most in at_most.items() if figures.get(name, 0) > most}
