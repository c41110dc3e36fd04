"""The parts of `image_resize`: what is asked for, which sizes that makes, and how pixels are read and written."""
