"""The data the jobs work on: a restaurant platform with two months of orders, made the same way every time."""
