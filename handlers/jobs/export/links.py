"""Presigned links to the files of a finished export, made when somebody asks for them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import timedelta

    from handlers.files.bucket import Bucket

LARGEST_MANIFEST = 1024 * 1024  # bytes


def links(bucket: Bucket, manifest: str, expires: timedelta) -> Mapping[str, str]:
    """A link by key for the manifest of that key and each file that it names, good for `expires`, at most 7 days.

    Each is a secret: whoever has it reads the file. So none is stored or logged, and they are made with the credentials
    of the person who asks, with whom they end. Raises FileError (NoSuchFile while the export is not finished),
    ValueError.
    """
    held = json.loads(bucket.read(manifest, at_most=LARGEST_MANIFEST).data)
    keys = [manifest, *(file["key"] for file in held["files"])]
    return {key: bucket.presign(key, expires) for key in keys}
