"""Translates the security properties of Kafka's Java clients for librdkafka: SASL and TLS.

Java keeps keys in stores of its own; librdkafka reads PEM files, and PKCS#12 for the client's own key. A JKS
store is rejected with a hint on how to convert it.
"""

import re
from collections.abc import Mapping

from barnabas.client.errors import BadSettings

_JAAS_OPTION = re.compile(r"""(\w+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'|([^\s;]+))""")
_JAAS_NAMES = {
    "username": "sasl.username",
    "password": "sasl.password",
    "clientId": "sasl.oauthbearer.client.id",
    "clientSecret": "sasl.oauthbearer.client.secret",
    "scope": "sasl.oauthbearer.scope",
    "keyTab": "sasl.kerberos.keytab",
    "principal": "sasl.kerberos.principal",
}
_RENAMED = {
    "ssl.truststore.certificates": "ssl.ca.pem",
    "ssl.keystore.certificate.chain": "ssl.certificate.pem",
    "ssl.keystore.key": "ssl.key.pem",
    "ssl.key.password": "ssl.key.password",
}
_MEANINGLESS = re.compile(
    r"ssl\.(provider|protocol|enabled\.protocols|cipher\.suites|keymanager\.algorithm|trustmanager\.algorithm"
    r"|secure\.random\.implementation|engine\.factory\.class|truststore\.(type|password)|keystore\.type)"
    r"|sasl\.(login\..*|client\.callback\.handler\.class|jaas\.config"
    r"|kerberos\.(ticket\..*|min\.time\..*)|oauthbearer\.(clock\..*|jwks\..*|expected\..*|scope\.claim\..*|header\..*))"
)


def secured(properties: Mapping[str, str], into: dict[str, str]) -> dict[str, str]:
    """Adds the security configuration of librdkafka to `into`. Returns all other properties."""
    rest = {}
    for key, value in properties.items():
        if not key.startswith(("ssl.", "sasl.")) and key != "security.protocol":
            rest[key] = value
        elif key == "security.protocol":
            into[key] = _protocol(value)
        elif key in _RENAMED:
            into[_RENAMED[key]] = value
        elif key == "ssl.endpoint.identification.algorithm":
            into[key] = value or "none"
        elif not _MEANINGLESS.fullmatch(key) and not key.startswith(("ssl.truststore", "ssl.keystore")):
            into[key] = value
    _trust(properties, into)
    _own_key(properties, into)
    if "sasl.jaas.config" in properties:
        into.update(_jaas(properties["sasl.jaas.config"]))
    if "sasl.oauthbearer.token.endpoint.url" in into:
        into.setdefault("sasl.oauthbearer.method", "oidc")
    return rest


def _protocol(value: str) -> str:
    if value.upper() not in ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"):
        raise BadSettings(
            f"Invalid value {value} for configuration security.protocol: "
            "String must be one of: PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL"
        )
    return value.lower()


def _trust(properties: Mapping[str, str], into: dict[str, str]) -> None:
    location = properties.get("ssl.truststore.location")
    if not location:
        return
    if properties.get("ssl.truststore.type", "JKS").upper() != "PEM" and not _looks_like_pem(location):
        raise BadSettings(
            f"ssl.truststore.location={location}: only PEM can be read; convert it "
            "(keytool -exportcert -rfc -keystore ...) and set ssl.truststore.type=PEM"
        )
    into["ssl.ca.location"] = location


def _own_key(properties: Mapping[str, str], into: dict[str, str]) -> None:
    location = properties.get("ssl.keystore.location")
    if not location:
        return
    kind = properties.get("ssl.keystore.type", "JKS").upper()
    if kind == "PEM" or _looks_like_pem(location):
        into["ssl.certificate.location"] = into["ssl.key.location"] = location
    elif kind == "PKCS12" or location.endswith((".p12", ".pfx")):
        into["ssl.keystore.location"] = location
        into["ssl.keystore.password"] = properties.get("ssl.keystore.password", "")
    else:
        raise BadSettings(
            f"ssl.keystore.location={location}: only PEM and PKCS12 can be read; convert it "
            "(keytool -importkeystore -deststoretype pkcs12 ...) and set ssl.keystore.type=PKCS12"
        )


def _looks_like_pem(location: str) -> bool:
    return location.endswith((".pem", ".crt", ".cer"))


def _jaas(text: str) -> dict[str, str]:
    """`...LoginModule required username="alice" password="secret";`"""
    found = {}
    for name, double, single, bare in _JAAS_OPTION.findall(text):
        if name in _JAAS_NAMES:
            found[_JAAS_NAMES[name]] = re.sub(r"\\(.)", r"\1", double or single or bare)
    if not found and "required" not in text:
        raise BadSettings("sasl.jaas.config: expected a login module and its options")
    return found
