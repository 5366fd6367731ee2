"""A certificate authority for tests."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from ipaddress import ip_address

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

Pair = tuple[bytes, bytes]
_SIGNS = x509.KeyUsage(
    key_cert_sign=True,
    crl_sign=True,
    digital_signature=False,
    content_commitment=False,
    key_encipherment=False,
    data_encipherment=False,
    key_agreement=False,
    encipher_only=False,
    decipher_only=False,
)


class Authority:
    def __init__(self) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = named("authority")
        constraints = x509.BasicConstraints(ca=True, path_length=0)
        draft = self._draft(self._name, self._key).add_extension(constraints, critical=True)
        draft = draft.add_extension(_SIGNS, critical=True)
        self.certificate = draft.sign(self._key, SHA256()).public_bytes(Encoding.PEM)

    def certify(self, name: str, *, days: float = 1) -> Pair:
        """Returns a certificate for a program on 127.0.0.1, and its private key, in PEM.

        A certificate with negative `days` has expired.
        """
        key = ec.generate_private_key(ec.SECP256R1())
        address = x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))])
        draft = self._draft(named(name), key, days).add_extension(address, critical=False)
        secret = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        return draft.sign(self._key, SHA256()).public_bytes(Encoding.PEM), secret

    def _draft(
        self, name: x509.Name, key: ec.EllipticCurvePrivateKey, days: float = 1
    ) -> x509.CertificateBuilder:
        now = datetime.now(UTC)
        return (
            x509.CertificateBuilder()
            .subject_name(name)
            .issuer_name(self._name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(days=1))
            .not_valid_after(now + timedelta(days=days))
            # Python 3.13 requires the key identifiers of RFC 5280.
            .add_extension(
                x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False
            )
            .add_extension(
                x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key()),
                critical=False,
            )
        )


def named(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
