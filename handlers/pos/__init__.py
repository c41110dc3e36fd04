"""The outside point-of-sale system (POS) that counts the restaurants' stock, over its HTTP API; see client.py."""
