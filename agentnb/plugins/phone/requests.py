"""The page's requests: who is paired, a code for one more phone, and the end of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from agentnb.plugins.phone.addresses import LOOPBACK, network_addresses, wanted_way
from agentnb.ports import Request

if TYPE_CHECKING:
    from agentnb.plugins.phone.pairing import PhonePairing


class PhoneStatusParams(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Returns whether phones may connect, and where they could."""


class PhoneStatusResult(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The state of the phones.

    Attributes:
        is_on: True if phones may connect.
        phones: The names of the connected phones.
        addresses: The addresses of the kernel's machine; those that other machines reach come first.
    """

    is_on: bool
    phones: tuple[str, ...]
    addresses: tuple[str, ...]


class PairParams(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Lets one more phone connect; unpairs phones that came another way.

    Attributes:
        address: The address of the kernel's machine that the phone reaches.
        origin: Instead of *address*: the origin of the Jupyter server that forwards the phone's requests.
    """

    address: str = ""
    origin: str = ""


class PairResult(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The code for one phone.

    Attributes:
        name: The phone's name in the chat and the log.
        token: Its token, for the fragment of the page's address.
        port: The port that the kernel listens at.
    """

    name: str
    token: str
    port: int


class UnpairParams(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Ends every phone's connection; no code works any more."""


class UnpairResult(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """It is done."""


def _current() -> PhonePairing | None:
    from agentnb.api.serving import needs_websockets

    with needs_websockets(message="A phone needs the package websockets."):
        from agentnb.plugins.phone.pairing import current_pairing
    return current_pairing()


async def look(_params: PhoneStatusParams) -> PhoneStatusResult:
    """How it stands."""
    pairing = _current()
    phones = () if pairing is None else pairing.phones
    return PhoneStatusResult(is_on=pairing is not None, phones=phones, addresses=(*network_addresses(), LOOPBACK))


async def pair(params: PairParams) -> PairResult:
    """A code for one more phone."""
    _current()
    from agentnb.plugins.phone.pairing import pair as begin

    pairing = await begin(wanted_way(params.address, params.origin))
    name, token = pairing.new_code()
    return PairResult(name=name, token=token, port=pairing.port)


async def unpair(_params: UnpairParams) -> UnpairResult:
    """No phone may connect any more."""
    _current()
    from agentnb.plugins.phone.pairing import unpair as end

    await end()
    return UnpairResult()


REQUESTS = (
    Request("phone/look", PhoneStatusParams, PhoneStatusResult, look),
    Request("phone/pair", PairParams, PairResult, pair),
    Request("phone/unpair", UnpairParams, UnpairResult, unpair),
)
