"""Verifies requests, one a line of JSON, and says of each whether it is what it claims to be."""

import base64
import json
import sys

from standardwebhooks import Webhook, WebhookVerificationError

for line in sys.stdin:
    told = json.loads(line)
    try:
        Webhook(told["secret"]).verify(base64.b64decode(told["body"]), told["headers"])
        print("accepted")
    except WebhookVerificationError as error:
        print(error)
