"""A few images for `make run`, as restaurants would upload them, and the messages that have them made smaller."""

from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from io import BytesIO
from typing import Any

from PIL import Image, ImageDraw

from handlers.queues.publish import Outgoing, Publisher

JOB = "image-resize"
# Name, format of Pillow, size in pixels, colours of plate and food.
DISHES = (
    ("kabsa", "JPEG", (1600, 1200), (250, 246, 235), (201, 120, 40)),
    ("falafel", "PNG", (900, 900), (226, 240, 228), (124, 82, 36)),
    ("kunafa", "JPEG", (1200, 1600), (238, 232, 250), (226, 140, 30)),
)


@dataclass(frozen=True, slots=True)
class Upload:
    """A file for the bucket; the same bytes each time it is made."""

    key: str
    content_type: str
    data: bytes

    @property
    def message_key(self) -> str:
        """The key of its run: another picture under the same name is another run."""
        return f"{self.key}@{sha256(self.data).hexdigest()[:8]}"


def uploads() -> Iterator[Upload]:
    """Draw each dish."""
    for name, kind, size, plate, food in DISHES:
        image = Image.new("RGB", size, (90, 70, 60))
        draw, (width, height) = ImageDraw.Draw(image), size
        draw.ellipse((width // 10, height // 10, width * 9 // 10, height * 9 // 10), fill=plate)
        draw.ellipse((width // 4, height // 4, width * 3 // 4, height * 3 // 4), fill=food)
        buffer = BytesIO()
        image.save(buffer, kind)
        ending = "jpg" if kind == "JPEG" else "png"
        yield Upload(f"uploads/menu/{name}.{ending}", f"image/{kind.lower()}", buffer.getvalue())


def put(s3: Any, bucket: str, files: list[Upload]) -> None:
    """Upload the files, as the platform's web server would. Raises botocore's errors."""
    for file in files:
        s3.put_object(Bucket=bucket, Key=file.key, Body=file.data, ContentType=file.content_type)


def send(publisher: Publisher, files: list[Upload]) -> int:
    """Send a message for each; how many. Raises what `Publisher.publish_all` does."""
    return publisher.publish_all(JOB, [Outgoing(file.message_key, {"source": file.key}) for file in files])
