"""Stream of a trace file's bytes: plain, gzip or Zstandard, from a path or standard input."""

from __future__ import annotations

import hashlib
import io
import os
import sys
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, Protocol

import xxhash

from ..engine.errors import InputError

STDIN = "-"
_GZIP = b"\x1f\x8b"
_ZSTD = b"\x28\xb5\x2f\xfd"
#: Compressed bytes per read.
_GZIP_READ = 128 << 10
_ZSTD_READ = 64 << 10
#: Decompressed bytes per step: few enough to stay in the processor's cache, and in reused memory.
#: Zstandard's frames give about as many.
_GZIP_TEXT = 512 << 10
_ZSTD_TEXT = 1 << 20


class Decompressor(Protocol):
    """What `Source` needs of a decompressing stream."""

    def readinto(self, view: Any, /) -> int | None:
        """Fill the view from its start and return the number of bytes written; 0 at the end."""


class Source:
    """The decompressed bytes of one file, hashed as they are read.

    Attributes:
        name: the file's name in messages.
        file_bytes: size of the original file, None for standard input.
        mtime_ns: when the file was last modified, None for standard input.
        consumed: bytes of the original file read so far.
        content_bytes: decompressed bytes returned so far.
        cut_short: why the bytes ended before the compressed stream's own end, None if they did not.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """Open a file, or standard input for `-`.

        Raises:
            InputError: the file is missing, a folder, or not readable.
        """
        self.is_stdin = str(path) == STDIN
        self.path = None if self.is_stdin else Path(path)
        self.name = "standard input" if self.path is None else str(self.path)
        self.cut_short: str | None = None
        self.content_bytes = 0
        self._ahead = b""
        self._content_hash = xxhash.xxh3_128()
        raw = _open(self.path, self.name)
        about = None if self.path is None else os.fstat(raw.fileno())
        self.file_bytes = about.st_size if about else None
        self.mtime_ns = about.st_mtime_ns if about else None
        self._file = _HashedFile(raw)
        try:
            self._stream = self._decompressor(self._file)
        except OSError as error:
            self._file.close()
            raise InputError(f"{self.name}: cannot be read: {error.strerror}.") from error

    @property
    def consumed(self) -> int:
        """Bytes of the original file read so far."""
        return self._file.consumed

    @property
    def is_plain(self) -> bool:
        """Whether the file's bytes are the content, not compressed."""
        return self._stream is self._file

    @property
    def content_digest(self) -> str:
        """XXH3-128 of the decompressed bytes returned so far, in hexadecimal."""
        return self._content_hash.hexdigest()

    def file_digest(self) -> str:
        """Read the rest of the file and return the SHA-256 of all of it, in hexadecimal."""
        while not self._file.closed and self._file.read(1 << 20):
            pass
        return self._file.sha256.hexdigest()

    def readinto(self, view: memoryview) -> int:
        """Fill `view` from its start and return the bytes written; 0 at the end, even of a truncated stream.

        Raises:
            InputError: the disk or network refuses to read on; what was read is no whole trace.
        """
        if self._ahead:
            count = min(len(self._ahead), len(view))
            view[:count] = self._ahead[:count]
            self._ahead = self._ahead[count:]
            return count
        try:
            count = self._stream.readinto(view) or 0
        except EOFError:
            self.cut_short = "the compressed stream ends early"
            return 0
        except Exception as error:  # the errors of isal and zstandard share no base class
            # That of gzip is an OSError without a number.
            if isinstance(error, OSError) and error.errno is not None:
                raise InputError(f"{self.name}: cannot be read: {error.strerror}.") from error
            self.cut_short = f"the compressed stream is damaged: {error}"
            return 0
        self._content_hash.update(view[:count])
        self.content_bytes += count
        return count

    def read(self, size: int) -> bytes:
        """Return up to `size` decompressed bytes; fewer only at the end."""
        buffer = bytearray(size)
        view = memoryview(buffer)
        filled = 0
        while filled < size and (count := self.readinto(view[filled:])):
            filled += count
        return bytes(view[:filled])

    def peek(self, size: int) -> bytes:
        """Return up to `size` decompressed bytes without consuming them; fewer only at the end."""
        self._ahead = self.read(size)
        return self._ahead

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _decompressor(self, file: _HashedFile) -> Decompressor:
        magic = file.peek(4)
        if magic.startswith(_GZIP):
            return _Gzip(file)
        if magic == _ZSTD:
            return _Zstd(file)
        return file


class _Gzip:
    """A gzip stream of one or more members. If it is truncated, all available text comes before the error."""

    def __init__(self, file: _HashedFile) -> None:
        from isal import igzip_lib

        self._file = file
        self._begin = partial(igzip_lib.IgzipDecompressor, flag=igzip_lib.DECOMP_GZIP)
        self._member = self._begin()

    def readinto(self, view: memoryview, /) -> int:
        text = b""
        while not text:
            data = b""
            if self._member.eof:
                # Members may be padded with zeros; anything else is the next one.
                data = self._member.unused_data.lstrip(b"\0")
                while not data and (more := self._file.read(_GZIP_READ)):
                    data = more.lstrip(b"\0")
                if not data:
                    return 0
                self._member = self._begin()
            elif self._member.needs_input and not (data := self._file.read(_GZIP_READ) or b""):
                raise EOFError
            text = self._member.decompress(data, min(len(view), _GZIP_TEXT))
        view[: len(text)] = text
        return len(text)


class _Zstd:
    """A Zstandard stream of one or more frames. If it is truncated, all available text comes before the error."""

    def __init__(self, file: _HashedFile) -> None:
        import zstandard

        self._file = file
        self._begin = zstandard.ZstdDecompressor().decompressobj
        self._frame = self._begin()
        self._begun = False
        self._step = 64
        self._text = memoryview(b"")

    def readinto(self, view: memoryview, /) -> int:
        while not self._text:
            data = b""
            if self._frame.eof:
                data = self._frame.unused_data
                self._frame, self._begun = self._begin(), False
            if not data and not (data := self._file.read(self._step) or b""):
                if self._begun:
                    raise EOFError
                return 0
            self._begun = True
            self._text = memoryview(self._frame.decompress(data))
            # A frame may expand 30 000 times.
            self._step = max(16, self._step // 2) if len(self._text) > _ZSTD_TEXT else min(_ZSTD_READ, 2 * self._step)
        count = min(len(self._text), len(view))
        view[:count] = self._text[:count]
        self._text = self._text[count:]
        return count


class _HashedFile(io.RawIOBase):
    """A file that counts and hashes what is read from it."""

    def __init__(self, raw: io.RawIOBase | BinaryIO) -> None:
        self._raw = raw
        self._ahead = b""
        self.consumed = 0
        self.sha256 = hashlib.sha256()

    def readable(self) -> bool:
        return True

    def peek(self, size: int) -> bytes:
        while len(self._ahead) < size and (more := self._raw.read(size - len(self._ahead))):
            self._ahead += more
        return self._ahead[:size]

    def readinto(self, buffer: Any, /) -> int:
        view = memoryview(buffer).cast("B")
        if self._ahead:
            count = min(len(self._ahead), len(view))
            view[:count] = self._ahead[:count]
            self._ahead = self._ahead[count:]
        else:
            count = self._raw.readinto(view) or 0  # type: ignore[union-attr]
        self.sha256.update(view[:count])
        self.consumed += count
        return count

    def close(self) -> None:
        if sys.stdin is None or self._raw is not sys.stdin.buffer:
            self._raw.close()
        super().close()


def _open(path: Path | None, name: str) -> io.RawIOBase | BinaryIO:
    if path is None:
        if sys.stdin is None:
            raise InputError(f"{name}: is closed.")
        return sys.stdin.buffer
    try:
        return path.open("rb", buffering=0)
    except FileNotFoundError:
        raise InputError(f"{name}: no such file.") from None
    except IsADirectoryError:
        raise InputError(f"{name}: is a folder; give the trace files in it.") from None
    except OSError as error:
        raise InputError(f"{name}: cannot be read: {error.strerror}.") from error
