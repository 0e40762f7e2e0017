"""Objects of an object store (S3, Google Cloud Storage, Azure Blob), with the interface of `pathlib`.

Credentials, region and endpoint come from the usual environment variables, which the Delta library reads
as well: both use the same client. Writes are atomic, and listings are consistent.
"""

from __future__ import annotations

import contextlib
import datetime
import errno
import functools
import importlib.util
import re
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from ..errors import UsageError

T = TypeVar("T")
#: Immutable objects of a known size.
_lasting: dict[str, Info] = {}
#: A fixed time for when these were written, far enough back that DuckDB caches what it reads of them.
_LONG_AGO_NS = 10**18
#: Objects up to this many bytes are read whole: the latency of a request exceeds the transfer time.
_SMALL = 1 << 16
#: Recent listings of folders, with their times: a report runs dozens of queries that list the same folder.
_recent: dict[str, tuple[float, list[ObjectPath]]] = {}
_RECENT_SECONDS = 1.0
#: The address of a place in an object store; libraries involved misinterpret names with other characters.
_ADDRESS = re.compile(r"(s3|gs|az)://[a-z0-9][a-z0-9._-]+(/[\w.=-]+)*/?", re.ASCII)
#: The maximum number of retries of a request, and their time limit: after errors, and if the store is unreachable.
RETRIES, RETRIED_SECONDS = 8, 60
#: Concurrent requests of this process.
_AT_ONCE = 16
_CONTROL = re.compile(r"\x1b\[\d+m|↳|\s")
_STATUS = re.compile(r"status code[ :]+(\d{3} [A-Z][A-Za-z ]+[a-z])")
#: Known errors of a store, the first match counts: part of the library's text, and the message.
_TOLD = (
    ("NoSuchBucket", "there is no such bucket"),
    ("169.254.169.254", "there are no credentials in the environment, and none of this machine"),
    ("metadata.google.internal", "there are no credentials in the environment, and none of this machine"),
    ("403 Forbidden", "access is denied: check the credentials in the environment, and what they allow"),
    ("401 Unauthorized", "access is denied: check the credentials in the environment, and what they allow"),
    ("HTTP error", "the object store cannot be reached: check the network and the endpoint in the environment"),
)


class StoreError(OSError):
    """An object store that cannot be used now, so that its content is unknown."""

    def __init__(self, url: str, error: BaseException | str) -> None:
        """State the reason in one sentence, without details of the request."""
        self.reason = reason_of(error)
        super().__init__(errno.EIO, self.reason, url)

    def __str__(self) -> str:
        return f"{self.filename}: {self.reason}."


def reason_of(error: BaseException | str) -> str:
    """Return the message of an error of the store's libraries, in one sentence."""
    text = " ".join(_CONTROL.sub(" ", str(error)).split())
    for part, reason in _TOLD:
        if part in text:
            return reason
    if status := _STATUS.search(text):
        return f"the object store answers {status[1]}"
    return re.sub(r"\?\S+", "", text.partition(" Debug source")[0].partition(" <")[0])[:200].rstrip(". ")


def store_reason(error: BaseException) -> str | None:
    """Return why an object store cannot be used, from a database error; None if the error has another cause."""
    found = re.search(rf"{StoreError.__name__}: (.+)\.", str(error))
    return found[1] if found else None


def is_address(text: str) -> bool:
    """Whether a text is a URL, and not a file or folder of this machine."""
    return re.match(r"[A-Za-z][A-Za-z0-9+.-]*://", text) is not None


@dataclass(frozen=True)
class Info:
    """Metadata of an object, named as in `os.stat_result`, and a tag that identifies its content."""

    st_size: int
    st_mtime_ns: int = 0
    tag: str = ""

    @property
    def st_ctime_ns(self) -> int:
        """The same as `st_mtime_ns`: an object is replaced as a whole."""
        return self.st_mtime_ns


@dataclass(frozen=True, order=True)
class ObjectPath:
    """An object, or a key prefix, used like a folder.

    Attributes:
        url: its address, `s3://bucket/key`.
        info: its metadata if known.
    """

    url: str
    info: Info | None = field(default=None, compare=False, repr=False)

    @classmethod
    def lasting(cls, url: str, size: int) -> ObjectPath:
        """Return an immutable object of a known size: opening it needs no request."""
        _lasting[url] = Info(size, _LONG_AGO_NS)
        return cls(url, _lasting[url])

    @classmethod
    def at(cls, url: str) -> ObjectPath:
        """Return the object at an address, with its metadata if known."""
        return cls(url, _lasting.get(url))

    @classmethod
    def parse(cls, text: str) -> ObjectPath:
        """Return the place at an address given by a user.

        Raises:
            UsageError: its store is not supported, its name has characters other than letters, digits and . _ - =, or
                the libraries for it are not installed.
        """
        if "@" in text or "?" in text:
            raise UsageError("the address of a lake holds no credentials: they come from the environment.")
        if not _ADDRESS.fullmatch(text) or "/." in text:
            raise UsageError(
                f"{text}: expected a folder, or s3://BUCKET/NAME, gs://BUCKET/NAME, az://CONTAINER/NAME, "
                "where a name has letters, digits and . _ - = only."
            )
        if not all(map(importlib.util.find_spec, ("obstore", "fsspec"))):
            raise UsageError(f"{text}: object stores need more libraries: pip install 'tracelake[objects]'")
        return cls(text.rstrip("/"))

    def __str__(self) -> str:
        return self.url

    def __truediv__(self, name: str) -> ObjectPath:
        return ObjectPath(f"{self.url}/{name}")

    @property
    def key(self) -> str:
        """Its key in the bucket; empty for the bucket itself."""
        return self.url.split("/", 3)[3] if self.url.count("/") > 2 else ""

    @property
    def name(self) -> str:
        """The last part of its key."""
        return self.key.rpartition("/")[2]

    @property
    def stem(self) -> str:
        """The last part of its key without the suffix."""
        return self.name.rpartition(".")[0] or self.name

    @property
    def parent(self) -> ObjectPath:
        """The parent prefix."""
        return ObjectPath(self.url.rpartition("/")[0])

    def stat(self) -> Info:
        """Return its size and time.

        Raises:
            FileNotFoundError: it is not there.
            StoreError: the store cannot be used.
        """
        import obstore

        if self.info is not None:
            return self.info
        with self._asking():
            return _info(obstore.head(_bucket(self.url), self.key))

    def is_file(self) -> bool:
        """Whether an object has this name."""
        try:
            self.stat()
        except FileNotFoundError:
            return False
        return True

    exists = is_file

    def is_symlink(self) -> bool:
        """Return false: an object store has no links."""
        return False

    def mkdir(self, *, exist_ok: bool = False, parents: bool = False) -> None:
        """Do nothing: a prefix exists as soon as an object has it."""

    def read_bytes(self) -> bytes:
        """Return its content.

        Raises:
            FileNotFoundError: it is not there.
            StoreError: the store cannot be used.
        """
        import obstore

        with self._asking():
            return bytes(obstore.get(_bucket(self.url), self.key).bytes())

    def read_text(self, encoding: str = "utf-8") -> str:
        """Return its content as text."""
        return self.read_bytes().decode(encoding)

    def read_range(self, start: int, length: int) -> bytes:
        """Return a byte range of its content, shorter if it reaches past the end."""
        import obstore

        if self.url in _lasting and _lasting[self.url].st_size <= _SMALL:
            return _small(self)[start : start + length]
        with self._asking():
            return bytes(obstore.get_range(_bucket(self.url), self.key, start=start, length=length))

    def write(self, content: bytes | Path) -> None:
        """Write bytes or the content of a file, replacing the object.

        Raises:
            StoreError: the store cannot be used.
        """
        import obstore

        with self._asking():
            obstore.put(_bucket(self.url), self.key, content)
        _recent.pop(self.parent.url, None)

    def create(self, content: bytes) -> bool:
        """Write bytes if there is no object yet; return whether there was none.

        Raises:
            StoreError: the store cannot be used.
        """
        import obstore
        from obstore.exceptions import AlreadyExistsError

        with self._asking():
            try:
                obstore.put(_bucket(self.url), self.key, content, mode="create")
            except AlreadyExistsError:
                return False
        return True

    def unlink(self, *, missing_ok: bool = True) -> None:  # noqa: ARG002
        """Remove it; a missing object is no error."""
        remove([self])

    def iterdir(self) -> Iterator[ObjectPath]:
        """Yield its children: objects with their sizes and times, and prefixes."""
        import obstore

        with self._asking():
            found = obstore.list_with_delimiter(_bucket(self.url), self.key or None)
        # A store's console creates a folder as an empty object of its name.
        objects = (one for one in found["objects"] if one["path"] != self.key)
        yield from (self._named(one["path"], _info(one)) for one in objects)
        yield from (self._named(prefix.rstrip("/")) for prefix in found["common_prefixes"])

    def recent(self) -> list[ObjectPath]:
        """Return its children, cached for a second except after writes of this process."""
        now = time.monotonic()
        if (known := _recent.get(self.url)) is None or now - known[0] > _RECENT_SECONDS:
            known = _recent[self.url] = (now, list(self.iterdir()))
        return known[1]

    def below(self, after: str = "") -> Iterator[ObjectPath]:
        """Yield all objects below it, with sizes and times, starting after a name."""
        import obstore

        offset = f"{self.key}/{after}" if after else None
        with self._asking():
            for chunk in obstore.list(_bucket(self.url), self.key or None, offset=offset):
                yield from (self._named(one["path"], _info(one)) for one in chunk)

    def _named(self, key: str, info: Info | None = None) -> ObjectPath:
        """Return another object of the bucket."""
        return ObjectPath("/".join([*self.url.split("/", 3)[:3], key]), info)

    @contextlib.contextmanager
    def _asking(self) -> Iterator[None]:
        """Turn the library's errors into FileNotFoundError and StoreError."""
        from obstore.exceptions import BaseError

        try:
            yield
        except FileNotFoundError as error:
            if "NoSuchBucket" in str(error):
                raise StoreError(self.url, error) from None
            raise FileNotFoundError(errno.ENOENT, "there is no such object", self.url) from None
        except (BaseError, OSError) as error:
            if isinstance(error, StoreError):
                raise
            raise StoreError(self.url, error) from None


def remove(objects: Iterable[ObjectPath]) -> None:
    """Remove objects of one bucket; missing ones are no error.

    Raises:
        StoreError: the store cannot be used.
    """
    import obstore

    if found := list(objects):
        with found[0]._asking():  # noqa: SLF001
            obstore.delete(_bucket(found[0].url), [one.key for one in found])
        for one in found:
            _recent.pop(one.parent.url, None)


def fetch(objects: Iterable[object]) -> None:
    """Prefetch small immutable objects concurrently, so that later reads need no request.

    Raises:
        StoreError: the store cannot be used.
    """

    def one(path: ObjectPath) -> None:
        # The reader reports missing objects.
        with contextlib.suppress(FileNotFoundError):
            _small(path)

    found = [one for one in objects if isinstance(one, ObjectPath) and one.info and one.info.st_size <= _SMALL]
    if len(found) > 1:
        each(one, found)


def each(work: Callable[[T], object], items: Iterable[T]) -> None:
    """Run work that waits for a store on many items concurrently.

    Raises:
        Exception: the first one raised; the other items are processed regardless.
    """
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(_AT_ONCE, "tracelake-objects") as pool:
        for _ in list(pool.map(work, items)):
            pass


def storage_options() -> dict[str, str]:
    """Return the storage options for the Delta library."""
    return {"max_retries": str(RETRIES), "retry_timeout": f"{RETRIED_SECONDS}s"}


@functools.lru_cache(maxsize=512)
def _small(path: ObjectPath) -> bytes:
    return path.read_bytes()


def _info(found: Any) -> Info:
    return Info(found["size"], int(found["last_modified"].timestamp() * 1e6) * 1000, found["e_tag"] or "")


def _bucket(url: str) -> Any:
    """Return the client of an address's bucket."""
    return _client(*url.split("/", 3)[:3:2], RETRIES)


@functools.cache
def _client(scheme: str, bucket: str, retries: int) -> Any:
    from obstore.store import AzureStore, GCSStore, S3Store

    kinds = {"s3:": S3Store, "gs:": GCSStore, "az:": AzureStore}
    timeout = datetime.timedelta(seconds=RETRIED_SECONDS)
    return kinds[scheme](bucket, retry_config={"max_retries": retries, "retry_timeout": timeout})
