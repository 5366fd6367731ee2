"""Filter expressions for subscribers, as defined by AIP-160."""
