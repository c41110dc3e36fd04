"""Any kind of pixel as sRGB with 8 bits a channel, which is what a picture without a profile means on the web."""

from io import BytesIO

from PIL import Image, ImageCms

SRGB = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB"))


def eight_bit(image: Image.Image) -> Image.Image:
    """The same picture in a mode that can be resized well: L, LA, RGB, RGBA or CMYK. Loads the pixels."""
    if image.mode.startswith("I"):
        # Pillow's own way to 8 bits cuts off at 255 instead of dividing.
        return image.point(lambda value: value / 257).convert("L")
    if image.has_transparency_data and image.mode != "LA":
        return image.convert("RGBA")  # a palette with transparency, or one colour that means it
    if image.mode in ("L", "LA", "RGB", "CMYK"):
        image.load()
        return image
    return image.convert("RGB")  # a palette, black and white


def in_srgb(image: Image.Image, profile: object) -> Image.Image:
    """The picture as RGB, or RGBA if anything of it is transparent, by its ICC profile if it has one.

    A profile that is broken, or of another kind of pixel, is passed over as browsers do. The result knows nothing of
    the file that it comes from.
    """
    alpha = image.getchannel("A") if image.mode in ("LA", "RGBA") else None
    colour = image.convert({"LA": "L", "RGBA": "RGB"}.get(image.mode, image.mode))
    converted = _converted(colour, profile) if isinstance(profile, bytes) else None
    result = converted or colour.convert("RGB")
    if alpha is not None and alpha.getextrema() != (255, 255):
        result.putalpha(alpha)
    result.info.clear()
    return result


def _converted(image: Image.Image, profile: bytes) -> Image.Image | None:
    try:
        return ImageCms.profileToProfile(image, BytesIO(profile), SRGB, outputMode="RGB")
    except (ImageCms.PyCMSError, OSError):
        return None
