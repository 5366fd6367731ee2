"""Adds an index of the custom fields whose data type was changed.

Their number in the column data_type is greater than 15, which programs of earlier versions do not
know.
"""


def indexes(_db):
    return {
        "custom_field_converted": (
            'ON "custom_field" ("account_id", "key", "data_type") WHERE ("data_type" > 15)'
        ),
    }
