import asyncio

from barnabas.network.turn import TURN, Turn


class FakeConnection:
    def __init__(self, sent: list[str], name: str) -> None:
        self._sent: list[str] = sent
        self._name: str = name

    def send_answers(self) -> None:
        self._sent.append(self._name)


def test_connection_served_twice_in_a_row_is_alone() -> None:
    async def scenario() -> None:
        turn = Turn(asyncio.get_running_loop())
        first, second = FakeConnection([], "first"), FakeConnection([], "second")
        assert not turn.begin(first)
        assert turn.begin(first)
        assert not turn.begin(second)
        assert not turn.begin(first)

    asyncio.run(scenario())


def test_connections_served_in_one_turn_are_answered_at_its_end_in_order() -> None:
    async def scenario() -> None:
        sent: list[str] = []
        turn = Turn(asyncio.get_running_loop())
        for name in ("first", "second", "third"):
            turn.answer_at_end(FakeConnection(sent, name))
        assert sent == []
        await asyncio.sleep(0)
        assert sent == ["first", "second", "third"]
        turn.answer_at_end(FakeConnection(sent, "again"))
        await asyncio.sleep(0)
        assert sent[3:] == ["again"]

    asyncio.run(scenario())


def test_connections_with_more_requests_than_fit_share_the_time_of_one() -> None:
    async def scenario() -> None:
        turn = Turn(asyncio.get_running_loop())
        assert turn.seconds == TURN
        many = [FakeConnection([], str(number)) for number in range(10)]
        for each in many:
            turn.used_up(each)
        assert turn.seconds == TURN / 10
        for each in many[1:]:
            turn.left_over(each)
        assert turn.seconds == TURN
        turn.left_over(many[0])
        assert turn.seconds == TURN

    asyncio.run(scenario())
