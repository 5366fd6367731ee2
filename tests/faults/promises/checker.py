"""Compares a database with the responses that clients received."""

from __future__ import annotations

from .contents import Contents
from .recorder import Operation, Outcome, Recorder

Results = dict[str, float]

# Violations that every promise counts, in addition to its own results.
NO_VIOLATIONS: Results = dict.fromkeys(
    (
        "lost",
        "failed but stored",
        "partly stored",
        "duplicates",
        "stored response missing or extra",
        "different responses",
        "unexpected responses",
        "rows of no operation",
        "inconsistent",
        "integrity errors",
    ),
    0,
)


def check(recorder: Recorder, contents: Contents) -> Results:
    """Counts the operations by their outcome, and every violation.

    Acknowledged operations are stored once, failed ones are not stored, and unknown ones are
    stored completely or not at all. Exactly the stored operations have a stored response. That
    response is always the same and contains the ids in the database.
    """
    results: Results = {
        "operations": len(recorder.outcomes),
        "acknowledged": len(recorder.with_outcome(Outcome.OK)),
        "unknown at first": len(recorder.once_unknown),
        **NO_VIOLATIONS,
        "unexpected responses": len(recorder.wrong),
        "inconsistent": contents.inconsistent,
        "integrity errors": len(contents.integrity_errors),
    }
    for operation, outcome in list(recorder.outcomes.items()):
        _check_one(operation, outcome, contents, results)
        results["different responses"] += _differing(operation, recorder, contents)
    known = {name for operation in recorder.outcomes for name in operation.names}
    results["rows of no operation"] = len({name for name in contents.names if "." in name} - known)
    return results


def _check_one(
    operation: Operation, outcome: Outcome, contents: Contents, results: Results
) -> None:
    counts = [contents.names[name] for name in operation.names]
    results["lost"] += outcome is Outcome.OK and counts.count(0)
    results["failed but stored"] += outcome is Outcome.FAILED and any(counts)
    results["partly stored"] += any(counts) and not all(counts)
    results["duplicates"] += sum(count > 1 for count in counts)
    results["stored response missing or extra"] += any(counts) != (
        operation.key in contents.idempotency_keys
    )


def _differing(operation: Operation, recorder: Recorder, contents: Contents) -> int:
    """Counts responses that differ from the first one, or have another id than the database."""
    responses = recorder.responses.get(operation, [])
    differing = sum(response != responses[0] for response in responses[1:])
    ids = [
        response[name]["id"]
        for response in responses[:1]
        for name in ("subscriber", "apiKey")
        if name in response
    ]
    return differing + sum(item != contents.ids.get(operation.names[0]) for item in ids)


def total(one: Results, other: Results) -> Results:
    """Returns the sums of the results of two runs."""
    return {name: one.get(name, 0) + other.get(name, 0) for name in one | other}


def broken(results: Results, at_most: Results) -> Results:
    """Returns the results that exceed their upper bounds."""
    return {name: results[name] for name, most in at_most.items() if results.get(name, 0) > most}
