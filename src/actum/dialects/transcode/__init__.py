"""One API's words in those of another."""

from .transcode import Transcoder, transcode

__all__ = ["Transcoder", "transcode"]
