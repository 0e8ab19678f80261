"""One API's words in those of another."""

from .messages import read_messages
from .transcode import Transcoder, transcode

__all__ = ["Transcoder", "read_messages", "transcode"]
