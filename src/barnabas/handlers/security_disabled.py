"""Requests about security, answered as by a Kafka broker without it: no authorizer, no SASL, no tokens.

- DescribeAcls (29), CreateAcls (30), DeleteAcls (31), versions 1 to 3: SECURITY_DISABLED, also for every
  item.
- SaslHandshake (17), versions 0 and 1, SaslAuthenticate (36), versions 0 to 2: ILLEGAL_SASL_STATE, as on any
  PLAINTEXT listener.
- CreateDelegationToken (38), versions 1 to 3, RenewDelegationToken (39) and ExpireDelegationToken (40),
  versions 1 and 2, DescribeDelegationToken (41), versions 1 to 3: DELEGATION_TOKEN_REQUEST_NOT_ALLOWED, as
  for every client that is not authenticated.
- DescribeUserScramCredentials (50), version 0: no user has any. A user that is named is RESOURCE_NOT_FOUND,
  one that is named twice DUPLICATE_RESOURCE; sorted by name (Kafka: in any order).
"""

from collections import Counter
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from barnabas.base.errors import ErrorCode
from barnabas.handlers.context import ClusterContext, Request
from barnabas.wire import Reply

if TYPE_CHECKING:
    from kio.schema.create_acls.v3.request import CreateAclsRequest
    from kio.schema.create_delegation_token.v3.request import CreateDelegationTokenRequest
    from kio.schema.delete_acls.v3.request import DeleteAclsRequest
    from kio.schema.describe_user_scram_credentials.v0.request import DescribeUserScramCredentialsRequest

_NO_AUTHORIZER = "No Authorizer is configured."
_NO_TIME = -1
_USER, _ANONYMOUS = "User", "ANONYMOUS"
"""The principal of a client on a listener without authentication."""


def handle(context: ClusterContext, request: Request) -> Reply:
    return _ANSWERS[request.api_key](request)


def _describe_acls(request: Request) -> Reply:
    message = "No Authorizer is configured on the broker"
    return Reply(error_code=ErrorCode.security_disabled, error_message=message)


def _create_acls(request: Request) -> Reply:
    body: CreateAclsRequest = request.body
    return Reply(results=[_refused() for _ in body.creations])


def _delete_acls(request: Request) -> Reply:
    body: DeleteAclsRequest = request.body
    return Reply(filter_results=[_refused() for _ in body.filters])


def _refused() -> Reply:
    return Reply(error_code=ErrorCode.security_disabled, error_message=_NO_AUTHORIZER)


def _sasl_handshake(request: Request) -> Reply:
    return Reply(error_code=ErrorCode.illegal_sasl_state)


def _sasl_authenticate(request: Request) -> Reply:
    message = "SaslAuthenticate request received after successful authentication"
    return Reply(error_code=ErrorCode.illegal_sasl_state, error_message=message)


def _create_token(request: Request) -> Reply:
    body: CreateDelegationTokenRequest = request.body
    named = bool(body.owner_principal_name)
    return Reply(
        error_code=ErrorCode.delegation_token_request_not_allowed,
        principal_type=body.owner_principal_type if named else _USER,
        principal_name=body.owner_principal_name if named else _ANONYMOUS,
        token_requester_principal_type=_USER,
        token_requester_principal_name=_ANONYMOUS,
        issue_timestamp=_NO_TIME,
        expiry_timestamp=_NO_TIME,
        max_timestamp=_NO_TIME,
    )


def _change_token(request: Request) -> Reply:
    return Reply(error_code=ErrorCode.delegation_token_request_not_allowed, expiry_timestamp=_NO_TIME)


def _describe_tokens(request: Request) -> Reply:
    return Reply(error_code=ErrorCode.delegation_token_request_not_allowed)


def _describe_scram(request: Request) -> Reply:
    body: DescribeUserScramCredentialsRequest = request.body
    named = Counter(user.name for user in body.users or ())
    return Reply(
        error_code=ErrorCode.none,
        error_message="",
        results=[_unknown_user(name, count) for name, count in sorted(named.items())],
    )


def _unknown_user(name: str, count: int) -> Reply:
    if count > 1:
        message = f"Cannot describe SCRAM credentials for the same user twice in a single request: {name}"
        return Reply(user=name, error_code=ErrorCode.duplicate_resource, error_message=message)
    message = f"Attempt to describe a user credential that does not exist: {name}"
    return Reply(user=name, error_code=ErrorCode.resource_not_found, error_message=message)


_ANSWERS: Mapping[int, Callable[[Request], Reply]] = {
    17: _sasl_handshake,
    29: _describe_acls,
    30: _create_acls,
    31: _delete_acls,
    36: _sasl_authenticate,
    38: _create_token,
    39: _change_token,
    40: _change_token,
    41: _describe_tokens,
    50: _describe_scram,
}
