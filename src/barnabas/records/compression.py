"""The codecs of a batch's records: the only module that uses the compression libraries.

What is written is what Kafka's own clients write, because Kafka's Java readers are strict about it:

- gzip: one member.
- snappy: the framing of xerial's snappy-java (magic, version 1, least version 1, then blocks of at most
  32 KiB, each with its length). Raw snappy, as librdkafka sends it, is read too.
- lz4: the frame format with independent blocks of 64 KiB and no checksums; Java refuses linked blocks,
  which the library would write by itself.
- zstd: one frame.

Reading never trusts a size that the data states of itself: output is bounded by `limit`, memory grows with
what is really there. Damaged data raises `CorruptMessage`, a bomb `MessageTooLarge`.
"""

import zlib
from collections.abc import Iterator
from mmap import mmap
from struct import Struct

import cramjam

from barnabas.base.errors import CorruptMessage, KafkaError, MessageTooLarge, UnsupportedCompressionType
from barnabas.records.batch import Buffer

NONE, GZIP, SNAPPY, LZ4, ZSTD = range(5)

CODEC_NAMES = ("none", "gzip", "snappy", "lz4", "zstd")
"""Kafka's names, by codec id."""

DEFAULT_LIMIT = 128 * 1024 * 1024
"""Most bytes that one batch may unpack to: well beyond any batch a client would keep in memory."""
_UNPACKED_RATIO = 32

_INT = Struct(">i")
_LITTLE_UINT = Struct("<I")

_GZIP_WINDOW = 31
_GZIP_DEFAULT_LEVEL = -1
_GZIP_PART = 256 * 1024

_XERIAL_MAGIC = b"\x82SNAPPY\x00"
_XERIAL_HEADER = _XERIAL_MAGIC + _INT.pack(1) + _INT.pack(1)
_XERIAL_BLOCK = 32 * 1024

_LZ4_HEADER = bytes.fromhex("04224d18604082")
"""Magic, version 1 with independent blocks, 64 KiB blocks, and the checksum of these two bytes."""
_LZ4_BLOCK = 64 * 1024
_LZ4_STORED = 0x80000000
_LZ4_FAST_LEVEL = 9
"""Kafka's default level, which by its history means the fast compressor; any other is high compression."""

_ZSTD_DEFAULT_LEVEL = 3

_LEAST_CAPACITY = 64 * 1024
_OUT_OF_ROOM = "failed to write whole buffer"
"""How the library says that the output did not fit; every other message means damaged input."""


def unpacked_limit_of(max_message_bytes: int) -> int:
    """Most bytes that a batch of a topic may unpack to: 32 times `max.message.bytes`, 128 MiB at most."""
    return max(max_message_bytes, min(_UNPACKED_RATIO * max_message_bytes, DEFAULT_LIMIT))


def compress(codec: int, data: Buffer, level: int | None = None) -> bytes:
    """Pack `data`; `level` is the codec's own, None its default in Kafka."""
    if codec == NONE:
        return bytes(data)
    if codec == GZIP:
        return _compress_gzip(data, _GZIP_DEFAULT_LEVEL if level is None else level)
    if codec == SNAPPY:
        return _compress_xerial(data)
    if codec == LZ4:
        return _compress_lz4(data, _LZ4_FAST_LEVEL if level is None else level)
    if codec == ZSTD:
        return bytes(cramjam.zstd.compress(data, level=_ZSTD_DEFAULT_LEVEL if level is None else level))
    raise unknown_codec(codec)


def decompress(codec: int, data: Buffer, limit: int = DEFAULT_LIMIT) -> bytes:
    """Unpack `data` into at most `limit` bytes. Uncompressed data has no limit: it is there already."""
    if codec == NONE:
        return bytes(data)
    if codec == GZIP:
        return _decompress_gzip(data, limit)
    if codec == SNAPPY:
        return _decompress_snappy(data, limit)
    if codec in (LZ4, ZSTD):
        return _decompress_growing(codec, data, limit)
    raise unknown_codec(codec)


def decompress_view(codec: int, data: Buffer, limit: int) -> memoryview:
    """Unpack `data` into at most `limit` bytes, without a copy and nearly always without the GIL.

    The memory is a mapping, of which a page exists once it is written: for large batches, in threads.
    """
    if codec == NONE:
        return memoryview(data)
    output = mmap(-1, max(limit, 1))
    if codec == GZIP:
        size = _gunzip_into(output, data, limit)
    elif codec == SNAPPY:
        size = _unsnap_into(output, data, limit)
    elif codec in (LZ4, ZSTD):
        unpack_into = cramjam.lz4.decompress_into if codec == LZ4 else cramjam.zstd.decompress_into
        try:
            size = unpack_into(data, output)
        except cramjam.DecompressionError as error:
            if _OUT_OF_ROOM in str(error):
                raise _bomb(limit) from None
            raise CorruptMessage(f"{CODEC_NAMES[codec]} data is damaged: {error}") from error
    else:
        raise unknown_codec(codec)
    return memoryview(output)[:size]


def unknown_codec(codec: int) -> UnsupportedCompressionType:
    return UnsupportedCompressionType(f"no compression codec has the id {codec}")


def _compress_gzip(data: Buffer, level: int) -> bytes:
    packer = zlib.compressobj(level, zlib.DEFLATED, _GZIP_WINDOW)
    return packer.compress(data) + packer.flush()


def _compress_xerial(data: Buffer) -> bytes:
    parts = [_XERIAL_HEADER]
    with memoryview(data) as view:
        for start in range(0, len(view), _XERIAL_BLOCK):
            block = bytes(cramjam.snappy.compress_raw(view[start : start + _XERIAL_BLOCK]))
            parts += (_INT.pack(len(block)), block)
    return b"".join(parts)


def _compress_lz4(data: Buffer, level: int) -> bytes:
    parts = [_LZ4_HEADER]
    with memoryview(data) as view:
        for start in range(0, len(view), _LZ4_BLOCK):
            block = view[start : start + _LZ4_BLOCK]
            if level == _LZ4_FAST_LEVEL:
                packed = cramjam.lz4.compress_block(block, store_size=False)
            else:
                packed = cramjam.lz4.compress_block(
                    block, mode="high_compression", compression=level, store_size=False
                )
            if len(packed) < len(block):
                parts += (_LITTLE_UINT.pack(len(packed)), bytes(packed))
            else:
                parts += (_LITTLE_UINT.pack(len(block) | _LZ4_STORED), bytes(block))
    parts.append(_LITTLE_UINT.pack(0))
    return b"".join(parts)


def _decompress_gzip(data: Buffer, limit: int) -> bytes:
    """Unpack one member after the other, as Java's reader does."""
    parts: list[bytes] = []
    room = limit
    rest: Buffer = data
    try:
        while True:
            unpacker = zlib.decompressobj(_GZIP_WINDOW)
            part = unpacker.decompress(rest, room + 1)
            room -= len(part)
            if room < 0:
                raise _bomb(limit)
            parts.append(part)
            if not unpacker.eof:
                raise CorruptMessage("gzip data is cut short")
            rest = unpacker.unused_data
            if not rest:
                return parts[0] if len(parts) == 1 else b"".join(parts)
    except zlib.error as error:
        raise CorruptMessage(f"gzip data is damaged: {error}") from error


def _gunzip_into(output: mmap, data: Buffer, limit: int) -> int:
    size, rest = 0, data
    try:
        while True:
            unpacker = zlib.decompressobj(_GZIP_WINDOW)
            while True:
                part = unpacker.decompress(rest, min(_GZIP_PART, limit - size + 1))
                if size + len(part) > limit:
                    raise _bomb(limit)
                output[size : size + len(part)] = part
                size += len(part)
                if unpacker.eof:
                    break
                rest = unpacker.unconsumed_tail
                if not part and not rest:
                    raise CorruptMessage("gzip data is cut short")
            rest = unpacker.unused_data
            if not rest:
                return size
    except zlib.error as error:
        raise CorruptMessage(f"gzip data is damaged: {error}") from error


def _unsnap_into(output: mmap, data: Buffer, limit: int) -> int:
    size = 0
    with memoryview(data) as view, memoryview(output) as target:
        try:
            for block in _snappy_blocks(view):
                _check_snappy(block, limit - size)
                size += cramjam.snappy.decompress_raw_into(block, target[size:])
        except cramjam.DecompressionError as error:
            raise CorruptMessage(f"snappy data is damaged: {error}") from error
    return size


def _decompress_snappy(data: Buffer, limit: int) -> bytes:
    with memoryview(data) as view:
        try:
            return _decompress_blocks(view, limit)
        except cramjam.DecompressionError as error:
            raise CorruptMessage(f"snappy data is damaged: {error}") from error


def _decompress_blocks(view: memoryview, limit: int) -> bytes:
    parts: list[bytes] = []
    room = limit
    for block in _snappy_blocks(view):
        _check_snappy(block, room)
        part = bytes(cramjam.snappy.decompress_raw(block))
        room -= len(part)
        parts.append(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def _snappy_blocks(view: memoryview) -> Iterator[memoryview]:
    """The blocks of xerial's framing; raw snappy is one block."""
    if view[: len(_XERIAL_MAGIC)] != _XERIAL_MAGIC:
        yield view
        return
    position, end = len(_XERIAL_HEADER), len(view)
    while position < end:
        size = int.from_bytes(view[position : position + _INT.size], "big", signed=True)
        position += _INT.size
        if not 0 < size <= end - position:
            raise CorruptMessage(f"a snappy block claims {size} bytes of {end - position}")
        yield view[position : position + size]
        position += size


def _check_snappy(block: memoryview, limit: int) -> None:
    """Raise if the block says that it unpacks to more than `limit`, or than it can."""
    stated = cramjam.snappy.decompress_raw_len(block)
    # No element of snappy makes more than 64 bytes out of fewer than 3, so a greater claim is a lie.
    if stated > 64 * len(block):
        raise CorruptMessage(f"{len(block)} bytes of snappy claim to unpack to {stated}")
    if stated > limit:
        raise _bomb(limit)


def _decompress_growing(codec: int, data: Buffer, limit: int) -> bytes:
    """Unpack into a buffer that is enlarged until it suffices, never beyond `limit`."""
    unpack_into = cramjam.lz4.decompress_into if codec == LZ4 else cramjam.zstd.decompress_into
    capacity = min(limit, max(_LEAST_CAPACITY, 4 * len(data)))
    while True:
        output = bytearray(capacity)
        try:
            size = unpack_into(data, output)
        except cramjam.DecompressionError as error:
            if _OUT_OF_ROOM not in str(error):
                raise CorruptMessage(f"{CODEC_NAMES[codec]} data is damaged: {error}") from error
        else:
            with memoryview(output) as view:
                return bytes(view[:size])
        if capacity >= limit:
            raise _bomb(limit)
        capacity = min(limit, 4 * capacity)


def _bomb(limit: int) -> KafkaError:
    return MessageTooLarge(f"a batch unpacks to more than {limit} bytes")
