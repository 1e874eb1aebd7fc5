"""Errors as the tools print them.

`ToolError` is an error of a tool itself. Kafka's tools print the error of a broker with the name of its Java
class, which scripts search for: `exception_text`.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from barnabas.client.errors import BrokerError

_PACKAGE = "org.apache.kafka.common.errors."
_OTHERS = {
    -1: "UnknownServerException",
    2: "CorruptRecordException",
    7: "TimeoutException",
    10: "RecordTooLargeException",
    11: "ControllerMovedException",
    12: "OffsetMetadataTooLarge",
    17: "InvalidTopicException",
    18: "RecordBatchTooLargeException",
    29: "TopicAuthorizationException",
    30: "GroupAuthorizationException",
    31: "ClusterAuthorizationException",
    36: "TopicExistsException",
    40: "InvalidConfigurationException",
    45: "OutOfOrderSequenceException",
    46: "DuplicateSequenceException",
    49: "InvalidPidMappingException",
    50: "InvalidTxnTimeoutException",
    53: "TransactionalIdAuthorizationException",
    56: "KafkaStorageException",
    58: "SaslAuthenticationException",
    61: "DelegationTokenDisabledException",
    64: "UnsupportedByAuthenticationException",
    65: "DelegationTokenAuthorizationException",
    68: "GroupNotEmptyException",
    97: "PrincipalDeserializationException",
    106: "FetchSessionTopicIdException",
    128: "InvalidRegularExpression",
}
"""Java classes whose names do not follow from the error's name."""


class ToolError(Exception):
    """The tool cannot do what was requested. The message is printed as it is; the exit status is 1."""


def exception_name(error: "BrokerError") -> str:
    code = int(error.code)
    words = error.name.removesuffix("_exception").split("_")
    name = _OTHERS.get(code) or "".join(word.capitalize() for word in words) + "Exception"
    return _PACKAGE + name


def exception_text(error: "BrokerError") -> str:
    """What Java prints for the exception: its class and its message."""
    return f"{exception_name(error)}: {error.message}"
