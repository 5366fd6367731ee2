"""The service: its server and its HTTP gateway, as one import root of the wheel."""
