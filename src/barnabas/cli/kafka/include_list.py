"""Topics by a list of names or regular expressions, as Kafka's tools read `--topic` and `--include`.

Commas separate alternatives. Blanks and quotes around the list are ignored. An expression must match a whole
name. The syntax is Python's, which differs from Java's in rare constructs (`\\p{Alpha}`).
"""

import re

from barnabas.cli.tool_errors import ToolError


class IncludeList:
    def __init__(self, text: str) -> None:
        """Raises ToolError if the text is not a regular expression."""
        expression = text.strip().replace(",", "|").replace(" ", "")
        self.expression: str = re.sub(r"^[\"']+|[\"']+$", "", expression)
        try:
            self._pattern: re.Pattern[str] = re.compile(self.expression)
        except re.error:
            raise ToolError(f"{self.expression} is an invalid regex.") from None

    def allows(self, topic: str) -> bool:
        return self._pattern.fullmatch(topic) is not None
