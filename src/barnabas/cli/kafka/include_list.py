"""Topics by a list of names or regular expressions, as Kafka's tools read `--topic` and `--include`.

Commas separate alternatives, blanks and quotes around the whole do not count, and an expression must match a
whole name. The expressions are Python's; they differ from Java's only in rarities (`\\p{Alpha}`).
"""

import re

from barnabas.cli.tool_error import ToolError


class IncludeList:
    def __init__(self, text: str) -> None:
        """Raises ToolError for what is no regular expression."""
        expression = text.strip().replace(",", "|").replace(" ", "")
        self.expression: str = re.sub(r"^[\"']+|[\"']+$", "", expression)
        try:
            self._pattern: re.Pattern[str] = re.compile(self.expression)
        except re.error:
            raise ToolError(f"{self.expression} is an invalid regex.") from None

    def allows(self, topic: str) -> bool:
        return self._pattern.fullmatch(topic) is not None
