"""Verifies requests, one JSON document per line, and prints the result of each."""

import base64
import json
import sys

from standardwebhooks import Webhook, WebhookVerificationError

for line in sys.stdin:
    request = json.loads(line)
    try:
        webhook = Webhook(request["secret"])
        webhook.verify(base64.b64decode(request["body"]), request["headers"])
        print("accepted")
    except WebhookVerificationError as error:
        print(error)
