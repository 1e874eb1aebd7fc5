from barnabas.spark.wire.receive_buffers import ReceiveBuffers

SIZE = 300_000


def test_buffer_that_nobody_looks_at_is_used_again() -> None:
    buffers = ReceiveBuffers()
    first = id(buffers.take(SIZE).obj)
    assert id(buffers.take(SIZE).obj) == first


def test_buffer_that_is_looked_at_is_left_alone() -> None:
    buffers = ReceiveBuffers()
    views = []
    for number in range(10):
        view = buffers.take(SIZE)
        view[:] = bytes([number]) * len(view)
        views.append(view[100:200])
        del view
    assert [bytes(view[:1]) for view in views] == [bytes([number]) for number in range(10)]


def test_larger_answer_gets_a_larger_buffer() -> None:
    buffers = ReceiveBuffers()
    buffers.take(SIZE)
    assert len(buffers.take(5_000_000)) >= 5_000_000
