"""Calls to Mechanical Turk: where it is, how often to try, and its errors in a person's words."""

from collections.abc import Callable
from typing import Any

import boto3
from botocore.config import Config
from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    ConnectTimeoutError,
    EndpointConnectionError,
    NoCredentialsError,
    ParamValidationError,
    PartialCredentialsError,
    ReadTimeoutError,
)

from dialens.base import DialensError

PRODUCTION = "https://mturk-requester.us-east-1.amazonaws.com"
SANDBOX = "https://mturk-requester-sandbox.us-east-1.amazonaws.com"
_REGION = "us-east-1"
# botocore waits between tries, twice as long each time, after throttling, lost connections and
# server errors. Every call that spends carries a token, so that a second try spends nothing.
_TRIES = 6
_THROTTLED = ("Throttling", "ThrottlingException", "RequestLimitExceeded", "TooManyRequests")
_REFUSED = (
    "AccessDenied",
    "AccessDeniedException",
    "UnrecognizedClientException",
    "InvalidSignatureException",
    "InvalidClientTokenId",
    "ExpiredTokenException",
)


def client(*, production: bool, endpoint: str | None = None) -> Any:
    """A client of the sandbox, or of the real marketplace.

    Examples:
        >>> client(production=False).meta.endpoint_url
        'https://mturk-requester-sandbox.us-east-1.amazonaws.com'
    """
    retries: Any = {"total_max_attempts": _TRIES, "mode": "standard"}
    return boto3.session.Session().client(
        "mturk",
        region_name=_REGION,
        endpoint_url=endpoint or (PRODUCTION if production else SANDBOX),
        config=Config(retries=retries, connect_timeout=10, read_timeout=60),
    )


def call(operation: Callable[..., Any], **request: Any) -> Any:
    """Call an operation of a client."""
    try:
        return operation(**request)
    except (NoCredentialsError, PartialCredentialsError) as error:
        raise DialensError(
            "There are no credentials for Amazon. Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, "
            "or run `aws configure`; the account has to be linked to Mechanical Turk."
        ) from error
    except (EndpointConnectionError, ConnectTimeoutError, ReadTimeoutError) as error:
        place = error.kwargs.get("endpoint_url", "Amazon")
        raise DialensError(
            f"Mechanical Turk cannot be reached at {place}. Check the network and run the command "
            "again: nothing is posted or paid twice."
        ) from error
    except ParamValidationError as error:
        raise DialensError(f"Mechanical Turk would not take this: {error}") from error
    except ClientError as error:
        details = error.response.get("Error", {})
        raise _explained(details.get("Code", ""), details.get("Message", "")) from error
    except BotoCoreError as error:
        raise DialensError(f"Mechanical Turk could not be asked: {error}.") from error


def _explained(code: str, message: str) -> DialensError:
    if code in _THROTTLED:
        return DialensError(
            f"Mechanical Turk asks to slow down, also after {_TRIES} tries. Run the command again "
            "in a minute: nothing is posted or paid twice."
        )
    if code in _REFUSED:
        return DialensError(
            f"Amazon refuses these credentials ({code}). Check the key, and that the account is "
            "linked to Mechanical Turk and allowed to use it."
        )
    return DialensError(f"Mechanical Turk says: {message or code}")
