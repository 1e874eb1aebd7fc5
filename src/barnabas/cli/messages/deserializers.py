"""Kafka's common deserializers: from bytes to the text that Java would print.

A class is selected by the last part of its name. `ByteArrayDeserializer` leaves bytes as they are, where Java
prints the address of an array.
"""

import math
import struct
import uuid
from collections.abc import Callable, Mapping

Deserializer = Callable[[bytes], bytes]
_SERIALIZATION = "org.apache.kafka.common.errors.SerializationException: "


class Undecodable(Exception):
    """The bytes are not a value of the type. The message is Kafka's."""


def deserializer_of(class_name: str, properties: Mapping[str, str], *, is_key: bool) -> Deserializer | None:
    """Returns None if the class is unknown. `properties` are those of the deserializer."""
    name = class_name.rpartition(".")[2]
    if name == "StringDeserializer":
        own = "key.deserializer.encoding" if is_key else "value.deserializer.encoding"
        encoding = properties.get(own) or properties.get("deserializer.encoding") or "UTF-8"
        return _string(encoding)
    return _DESERIALIZERS.get(name)


def _string(encoding: str) -> Deserializer | None:
    try:
        b"".decode(encoding)
    except LookupError:
        return None
    return lambda raw: raw.decode(encoding, "replace").encode()


def _number(name: str, form: str, text: Callable[[float], str] = str) -> Deserializer:
    unpack = struct.Struct(form)

    def read(raw: bytes) -> bytes:
        if len(raw) != unpack.size:
            raise Undecodable(f"{_SERIALIZATION}Size of data received by {name} is not {unpack.size}")
        return text(unpack.unpack(raw)[0]).encode()

    return read


def java_double(number: float) -> str:
    """As Double.toString: plain from 0.001 to ten million, else with an exponent; always a fraction."""
    return _java_float(number, repr(number))


def java_float(number: float) -> str:
    """As Float.toString: the shortest text that gives the same 32 bits."""
    if math.isfinite(number):
        for digits in range(1, 10):
            text = f"{number:.{digits}g}"
            if struct.pack(">f", float(text)) == struct.pack(">f", number):
                return _java_float(number, repr(float(text)))
    return _java_float(number, repr(number))


def _java_float(number: float, shortest: str) -> str:
    if math.isnan(number):
        return "NaN"
    if math.isinf(number):
        return "Infinity" if number > 0 else "-Infinity"
    if number == 0 or 1e-3 <= abs(number) < 1e7:
        return shortest if "e" not in shortest else f"{number:.17f}".rstrip("0")
    sign, digits, exponent = _decimal(shortest)
    return f"{sign}{digits[0]}.{digits[1:] or '0'}E{exponent}"


def _decimal(text: str) -> tuple[str, str, int]:
    """Sign, significant digits, and the exponent of the first one."""
    sign = "-" if text.startswith("-") else ""
    mantissa, _, power = text.removeprefix("-").partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    leading = len(whole + fraction) - len(digits)
    return sign, digits.rstrip("0") or "0", int(power or 0) + len(whole) - leading - 1


def _bytes_text(raw: bytes) -> bytes:
    r"""As Kafka's Bytes.toString: what is not printable ASCII (or a backslash) becomes \x1F."""
    return "".join(
        chr(each) if 0x20 <= each <= 0x7E and each != 0x5C else f"\\x{each:02X}" for each in raw
    ).encode()


def _uuid(raw: bytes) -> bytes:
    text = raw.decode("utf-8", "replace")
    try:
        return str(uuid.UUID(text)).encode()
    except ValueError:
        raise Undecodable(_SERIALIZATION + "Error parsing data into UUID") from None


def _boolean(raw: bytes) -> bytes:
    if raw == b"\x01":
        return b"true"
    if raw == b"\x00":
        return b"false"
    what = "Size of data received by BooleanDeserializer is not 1"
    if len(raw) == 1:
        signed = raw[0] - 256 if raw[0] > 127 else raw[0]
        what = f"Unexpected byte received by BooleanDeserializer: {signed}"
    raise Undecodable(_SERIALIZATION + what)


_DESERIALIZERS: dict[str, Deserializer] = {
    "ByteArrayDeserializer": bytes,
    "BytesDeserializer": _bytes_text,
    "ByteBufferDeserializer": lambda raw: (
        f"java.nio.HeapByteBuffer[pos=0 lim={len(raw)} cap={len(raw)}]".encode()
    ),
    "BooleanDeserializer": _boolean,
    "ShortDeserializer": _number("ShortDeserializer", ">h"),
    "IntegerDeserializer": _number("IntegerDeserializer", ">i"),
    "LongDeserializer": _number("LongDeserializer", ">q"),
    "FloatDeserializer": _number("Deserializer", ">f", java_float),
    "DoubleDeserializer": _number("Deserializer", ">d", java_double),
    "UUIDDeserializer": _uuid,
}
