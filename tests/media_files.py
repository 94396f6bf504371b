"""An image and a recording, made rather than kept."""

from __future__ import annotations

import io
import wave


def picture() -> bytes:
    """A drawing with a circle in it."""
    return b"""<svg xmlns="http://www.w3.org/2000/svg" width="800" height="500" viewBox="0 0 800 500">
    <rect width="800" height="500" fill="#cfe3dd"/><circle cx="250" cy="250" r="160" fill="#0b6363"/>
    <rect x="520" y="120" width="180" height="260" fill="#b5651d"/></svg>"""


def recording(seconds: int = 30) -> bytes:
    """A file of silence."""
    file = io.BytesIO()
    with wave.open(file, "wb") as sound:
        sound.setnchannels(1)
        sound.setsampwidth(1)
        sound.setframerate(8000)
        sound.writeframes(bytes([128]) * 8000 * seconds)
    return file.getvalue()
