"""How a function that builds a call becomes a method of both clients, written once.

A family's class of methods says which they are::

    class ProjectsMethods:
        project_create = write(project_create)      # gives a Reply
        project_show = read(project_show)           # gives the record
        project_list = read(project_list)
        projects = items(project_list)              # gives all items of that list, page by page
        head_cursor = conversation(head_cursor)     # gives what several calls come to

On a blocking client (``Blocking``) such a method returns its result, on the trio client (``Async``) it is
awaited. Arguments, their types and the docstring are the function's own. Nothing here does input or output: a
client answers one call (``reply``), and the rest follows from it. Trio is not imported.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Coroutine, Generator, Iterator, Mapping, Sequence
from functools import partial, wraps
from typing import Any, Concatenate, Generic, ParamSpec, Protocol, TypeAlias, TypeVar, overload

from tallystick.core import Call, Read, Reply, Write
from tallystick.errors import ProblemError

P = ParamSpec("P")
T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
Page = TypeVar("Page")

Conversation: TypeAlias = Generator[Call[Any], Any, T]
"""Several calls, one after the other: a generator that yields each, and is sent its result or thrown its
problem.
"""
Arguments: TypeAlias = Mapping[str, object]
Turn: TypeAlias = Callable[[Page, Arguments], tuple[Sequence[T], Arguments | None]]
"""From a page and the arguments that asked for it: its items, and the next page's arguments; None after the
last.
"""


class PageOf(Protocol[T_co]):
    """What every page of a list has."""

    @property
    def items(self) -> tuple[T_co, ...]: ...
    @property
    def next(self) -> object: ...
    @property
    def snapshot(self) -> str: ...


# --- the two kinds of clients -----------------------------------------------------------------------------
class Blocking(ABC):
    """A client whose methods return when the daemon has answered."""

    @abstractmethod
    def reply(self, call: Call[T]) -> Reply[T]:
        """What a call is answered."""

    def _write(self, build: Callable[P, Write[T]]) -> Callable[P, Reply[T]]:
        @wraps(build)
        def method(*args: P.args, **kwargs: P.kwargs) -> Reply[T]:
            return self.reply(build(*args, **kwargs))

        return method

    def _read(self, build: Callable[P, Read[T]]) -> Callable[P, T]:
        @wraps(build)
        def method(*args: P.args, **kwargs: P.kwargs) -> T:
            return self.reply(build(*args, **kwargs)).value

        return method

    def _pages(self, build: Callable[P, Read[Page]], turn: Turn[Page, T]) -> Callable[P, Iterator[T]]:
        @wraps(build)
        def method(*args: P.args, **kwargs: P.kwargs) -> Iterator[T]:
            call = build(*args, **kwargs)
            following: Arguments | None = call.arguments
            while following is not None:
                call.arguments = following
                found, following = turn(self.reply(call).value, following)
                yield from found

        return method

    def _conversation(self, build: Callable[P, Conversation[T]]) -> Callable[P, T]:
        @wraps(build)
        def method(*args: P.args, **kwargs: P.kwargs) -> T:
            conversation = build(*args, **kwargs)
            step = partial(next, conversation)
            while True:
                try:
                    call = step()
                except StopIteration as done:
                    value: T = done.value
                    return value
                try:
                    step = partial(conversation.send, self.reply(call).value)
                except ProblemError as problem:
                    step = partial(conversation.throw, problem)

        return method


class Async(ABC):
    """A client whose methods are awaited."""

    @abstractmethod
    async def _checkpoint(self) -> None:
        """Let others run: a long page must not keep a program from its other tasks, nor from being cancelled.
        """

    @abstractmethod
    async def reply(self, call: Call[T]) -> Reply[T]:
        """What a call is answered."""

    def _write(self, build: Callable[P, Write[T]]) -> Callable[P, Coroutine[Any, Any, Reply[T]]]:
        @wraps(build)
        async def method(*args: P.args, **kwargs: P.kwargs) -> Reply[T]:
            return await self.reply(build(*args, **kwargs))

        return method

    def _read(self, build: Callable[P, Read[T]]) -> Callable[P, Coroutine[Any, Any, T]]:
        @wraps(build)
        async def method(*args: P.args, **kwargs: P.kwargs) -> T:
            return (await self.reply(build(*args, **kwargs))).value

        return method

    def _pages(self, build: Callable[P, Read[Page]], turn: Turn[Page, T]) -> Callable[P, AsyncIterator[T]]:
        @wraps(build)
        async def method(*args: P.args, **kwargs: P.kwargs) -> AsyncIterator[T]:
            call = build(*args, **kwargs)
            following: Arguments | None = call.arguments
            while following is not None:
                call.arguments = following
                found, following = turn((await self.reply(call)).value, following)
                for item in found:
                    yield item
                    await self._checkpoint()

        return method

    def _conversation(self, build: Callable[P, Conversation[T]]) -> Callable[P, Coroutine[Any, Any, T]]:
        @wraps(build)
        async def method(*args: P.args, **kwargs: P.kwargs) -> T:
            conversation = build(*args, **kwargs)
            step = partial(next, conversation)
            while True:
                try:
                    call = step()
                except StopIteration as done:
                    value: T = done.value
                    return value
                try:
                    step = partial(conversation.send, (await self.reply(call)).value)
                except ProblemError as problem:
                    step = partial(conversation.throw, problem)

        return method


# --- the methods of both ----------------------------------------------------------------------------------
class _Method(Protocol):
    def __get__(self, client: Any, owner: type) -> Callable[..., object]: ...


def _unbound(method: _Method, build: Callable[P, object]) -> Callable[Concatenate[Any, P], object]:
    """The method as its class has it: a function whose first argument is the client."""

    @wraps(build)
    def function(client: Blocking | Async, /, *args: P.args, **kwargs: P.kwargs) -> object:
        return method.__get__(client, type(client))(*args, **kwargs)

    return function


class write(Generic[P, T]):
    """The method of a call that is one command: it gives the whole ``Reply``."""

    def __init__(self, build: Callable[P, Write[T]]) -> None:
        self.build = build

    @overload
    def __get__(self, client: Blocking, owner: type) -> Callable[P, Reply[T]]: ...
    @overload
    def __get__(self, client: Async, owner: type) -> Callable[P, Coroutine[Any, Any, Reply[T]]]: ...
    @overload
    def __get__(
        self, client: None, owner: type[Blocking]
    ) -> Callable[Concatenate[Blocking, P], Reply[T]]: ...
    @overload
    def __get__(
        self, client: None, owner: type[Async]
    ) -> Callable[Concatenate[Async, P], Coroutine[Any, Any, Reply[T]]]: ...
    def __get__(self, client: Blocking | Async | None, owner: type) -> Callable[..., object]:
        return _unbound(self, self.build) if client is None else client._write(self.build)


class read(Generic[P, T_co]):
    """The method of a call that changes nothing: it gives the record."""

    def __init__(self, build: Callable[P, Read[T_co]]) -> None:
        self.build = build

    @overload
    def __get__(self, client: Blocking, owner: type) -> Callable[P, T_co]: ...
    @overload
    def __get__(self, client: Async, owner: type) -> Callable[P, Coroutine[Any, Any, T_co]]: ...
    @overload
    def __get__(self, client: None, owner: type[Blocking]) -> Callable[Concatenate[Blocking, P], T_co]: ...
    @overload
    def __get__(
        self, client: None, owner: type[Async]
    ) -> Callable[Concatenate[Async, P], Coroutine[Any, Any, T_co]]: ...
    def __get__(self, client: Blocking | Async | None, owner: type) -> Callable[..., object]:
        return _unbound(self, self.build) if client is None else client._read(self.build)


class pages(Generic[P, T]):
    """The method that gives all items of a call's pages, each page when its first item is wanted."""

    def __init__(self, build: Callable[P, Read[Page]], turn: Turn[Page, T]) -> None:
        self.build: Callable[P, Read[Any]] = build
        self._turn: Turn[Any, T] = turn

    @overload
    def __get__(self, client: Blocking, owner: type) -> Callable[P, Iterator[T]]: ...
    @overload
    def __get__(self, client: Async, owner: type) -> Callable[P, AsyncIterator[T]]: ...
    @overload
    def __get__(
        self, client: None, owner: type[Blocking]
    ) -> Callable[Concatenate[Blocking, P], Iterator[T]]: ...
    @overload
    def __get__(
        self, client: None, owner: type[Async]
    ) -> Callable[Concatenate[Async, P], AsyncIterator[T]]: ...
    def __get__(self, client: Blocking | Async | None, owner: type) -> Callable[..., object]:
        return _unbound(self, self.build) if client is None else client._pages(self.build, self._turn)


def items(page: read[P, PageOf[T]]) -> pages[P, T]:
    """From the method that gives a list's page, the one that gives all its items, over one snapshot: what is
    added meanwhile does not shift them.
    """
    return pages(page.build, _turn)


def _turn(page: PageOf[T], asked: Arguments) -> tuple[Sequence[T], Arguments | None]:
    following = {**asked, "after": page.next, "snapshot": page.snapshot}
    return page.items, following if page.next else None


class conversation(Generic[P, T]):
    """The method that makes several calls, one after the other: it gives what they come to."""

    def __init__(self, build: Callable[P, Conversation[T]]) -> None:
        self.build = build

    @overload
    def __get__(self, client: Blocking, owner: type) -> Callable[P, T]: ...
    @overload
    def __get__(self, client: Async, owner: type) -> Callable[P, Coroutine[Any, Any, T]]: ...
    @overload
    def __get__(self, client: None, owner: type[Blocking]) -> Callable[Concatenate[Blocking, P], T]: ...
    @overload
    def __get__(
        self, client: None, owner: type[Async]
    ) -> Callable[Concatenate[Async, P], Coroutine[Any, Any, T]]: ...
    def __get__(self, client: Blocking | Async | None, owner: type) -> Callable[..., object]:
        return _unbound(self, self.build) if client is None else client._conversation(self.build)
