# Generated from protos/ by `make generate`; do not edit.
