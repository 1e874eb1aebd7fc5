import asyncio

from barnabas.network.turn import TURN, Turn


class Talker:
    def __init__(self, said: list[str], name: str) -> None:
        self._said: list[str] = said
        self._name: str = name

    def send_answers(self) -> None:
        self._said.append(self._name)


def test_who_is_served_twice_in_a_row_is_alone() -> None:
    async def scenario() -> None:
        turn = Turn(asyncio.get_running_loop())
        first, second = Talker([], "first"), Talker([], "second")
        assert not turn.begin(first)
        assert turn.begin(first)
        assert not turn.begin(second)
        assert not turn.begin(first)

    asyncio.run(scenario())


def test_those_who_are_served_together_are_answered_at_the_end_of_the_turn_in_order() -> None:
    async def scenario() -> None:
        said: list[str] = []
        turn = Turn(asyncio.get_running_loop())
        for name in ("first", "second", "third"):
            turn.answer_at_end(Talker(said, name))
        assert said == []
        await asyncio.sleep(0)
        assert said == ["first", "second", "third"]
        turn.answer_at_end(Talker(said, "again"))
        await asyncio.sleep(0)
        assert said[3:] == ["again"]

    asyncio.run(scenario())


def test_connections_with_more_requests_than_fit_share_the_time_of_one() -> None:
    async def scenario() -> None:
        turn = Turn(asyncio.get_running_loop())
        assert turn.seconds == TURN
        many = [Talker([], str(number)) for number in range(10)]
        for each in many:
            turn.used_up(each)
        assert turn.seconds == TURN / 10
        for each in many[1:]:
            turn.left_over(each)
        assert turn.seconds == TURN
        turn.left_over(many[0])
        assert turn.seconds == TURN

    asyncio.run(scenario())
