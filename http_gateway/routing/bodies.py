"""What the body of a request is read into.

It is the whole request less what the path holds (`*`), one of its fields, or nothing.
Such a field may be anything that JSON can hold: an object, a list, a map, a number.
"""

from __future__ import annotations

from google.protobuf.descriptor import Descriptor

from ..codec.transcode import MessageReader, reader
from .fields import field_in_json, parts_of
from .templates import BindingError
from .update_masks import UpdateMask, mask_of

WHOLE = "*"
# The methods of which HTTP says that what they send means nothing, or that may send nothing.
_WITHOUT_BODY = frozenset({"GET", "HEAD", "TRACE"})
# The methods that change what is there, in part.
_UPDATES = frozenset({"PUT", "PATCH"})


def check_body(http_method: str, body: str, request: Descriptor, variables: frozenset[str]) -> None:
    """Raises BindingError if no request of the method can have such a body.

    DELETE may have one. The path may hold a field within the field that is the body, as
    AIP-134 has it: it then counts whatever the body says of it.
    """
    if not body:
        return
    if http_method in _WITHOUT_BODY:
        raise BindingError(f"{http_method} has no body")
    if body in variables:
        raise BindingError(f"the path holds the field {body!r}, which is the body")
    if body != WHOLE:
        field_in_json(request, body, "body")


def body_reader(
    request: Descriptor, body: str, variables: frozenset[str], mask: UpdateMask | None
) -> MessageReader | None:
    """Returns what reads a body into a request; None where there is none.

    It returns what was given, an object under the JSON names of the request's fields.
    Faults are named from the request on, as the server names its own.
    """
    if not body:
        return None
    if body == WHOLE:
        return reader(request, variables | ({mask.name} if mask else set()))
    field = field_in_json(request, body, "body")
    whole = reader(request, frozenset(each.name for each in request.fields if each is not field))
    return lambda value, path, violations, message: whole(
        {field.json_name: value}, path, violations, message
    )


def update_mask_of(
    http_method: str, request: Descriptor, body: str, variables: frozenset[str]
) -> UpdateMask | None:
    """Returns what fills the field mask of an update from its body, or None.

    Where the whole request is the body, its keys are the mask: a key of the mask itself is
    unknown. That is the one thing in which bodies are not what google.api.http says, by
    which `*` holds every field that the path does not. Beside a body that is one field,
    the mask is a query parameter, and is made of the body where there is none; its
    paths begin in that field.
    """
    name = mask_of(request)
    if name is None or not body or http_method not in _UPDATES or name in {body, *variables}:
        return None
    if body == WHOLE:
        return UpdateMask(name, request, variables)
    field = field_in_json(request, body, "body")
    changed = parts_of(field)
    if changed is None:
        return None
    held = {variable.removeprefix(f"{body}.") for variable in variables}
    return UpdateMask(name, changed, frozenset(held), key=field.json_name)
