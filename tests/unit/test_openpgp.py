"""The reader of keys, held against gpg, against the keyrings of this machine and against damaged input."""

import base64
import os
import random
import re
import shutil
import subprocess
import time
from pathlib import Path

import pytest
from gpg_home import DAY, GpgHome
from halo import openpgp
from halo.openpgp import armour, packets

needs_gpg = pytest.mark.skipif(not shutil.which("gpg"), reason="gpg, which the reader is compared with, is not here")

# RFC 9580, appendix A.3: the version 6 certificate, and its fingerprint as printed there.
V6_FINGERPRINT = "CB186C4F0609A697E4D52DFA6C722B0C1F1E27C18A56708F6525EC27BAD9ACC9"
V6 = b"""-----BEGIN PGP PUBLIC KEY BLOCK-----

xioGY4d/4xsAAAAg+U2nu0jWCmHlZ3BqZYfQMxmZu52JGggkLq2EVD34laPCsQYf
GwoAAABCBYJjh3/jAwsJBwUVCg4IDAIWAAKbAwIeCSIhBssYbE8GCaaX5NUt+mxy
KwwfHifBilZwj2Ul7Ce62azJBScJAgcCAAAAAK0oIBA+LX0ifsDm185Ecds2v8lw
gyU2kCcUmKfvBXbAf6rhRYWzuQOwEn7E/aLwIwRaLsdry0+VcallHhSu4RN6HWaE
QsiPlR4zxP/TP7mhfVEe7XWPxtnMUMtf15OyA51YBM4qBmOHf+MZAAAAIIaTJINn
+eUBXbki+PSAld2nhJh/LVmFsS+60WyvXkQ1wpsGGBsKAAAALAWCY4d/4wKbDCIh
BssYbE8GCaaX5NUt+mxyKwwfHifBilZwj2Ul7Ce62azJAAAAAAQBIKbpGG2dWTX8
j+VjFM21J0hqWlEg+bdiojWnKfA5AQpWUWtnNwDEM0g12vYxoWM8Y81W+bHBw805
I8kWVkXU6vFOi+HWvv/ira7ofJu16NnoUkhclkUrk0mXubZvyl4GBg==
-----END PGP PUBLIC KEY BLOCK-----
"""


@pytest.fixture(scope="module")
def home():
    home = GpgHome()
    yield home
    home.close()


@pytest.fixture(scope="module")
def kinds(home):
    """Fingerprints of keys of many kinds."""
    now = int(time.time())
    made = {
        "rsa": home.make("Rsa <rsa@example.org>", "rsa2048"),
        "ed25519": home.make("Ed", "ed25519", "2y"),
        "nistp256, expired": home.make("Nist", "nistp256", "1y", at=now - 1000 * DAY),
        "extended": home.make("Extended", expires="100d", at=now - 300 * DAY),
        "extended to never": home.make("For ever", expires="100d", at=now - 300 * DAY),
        "revoked": home.make("Revoked"),
        "several user IDs": home.make("First: \xdcml\xe4ut\\ <a@example.org>", expires="400d", at=now - 200 * DAY),
        "several subkeys": home.make("Subkeys", expires="500d", at=now - 200 * DAY),
    }
    home.gpg("--quick-add-key", made["ed25519"], "cv25519", "encr", "1y")
    home.gpg("--quick-set-expire", made["extended"], "200d", at=now - 250 * DAY)
    home.gpg("--quick-set-expire", made["extended"], "730d", at=now - 10 * DAY)
    home.gpg("--quick-set-expire", made["extended to never"], "0", at=now - 10 * DAY)
    revocation = (home.path / "openpgp-revocs.d" / f"{made['revoked']}.rev").read_bytes()
    home.gpg("--import", data=revocation.replace(b":-----BEGIN", b"-----BEGIN"))
    uids = made["several user IDs"]
    home.gpg("--quick-add-uid", uids, "Second", at=now - 150 * DAY)
    home.gpg("--quick-add-uid", uids, "Third", at=now - 100 * DAY)
    home.gpg("--quick-revoke-uid", uids, "Third", at=now - 90 * DAY)
    # The newest signature stands on the second user ID alone.
    home.gpg("--quick-set-primary-uid", uids, "Second", at=now - 80 * DAY)
    subkeys = made["several subkeys"]
    for algo, usage, expires, age in [
        ("ed25519", "sign", "10d", 190),
        ("rsa2048", "sign", "300d", 180),
        ("cv25519", "encr", "never", 170),
    ]:
        home.gpg("--quick-add-key", subkeys, algo, usage, expires, at=now - age * DAY)
    home.gpg("--command-fd", "0", "--edit-key", subkeys, data=b"key 3\nrevkey\ny\n0\n\ny\nsave\n")
    return made


def as_gpg_shows(rows):
    """Return what gpg lists in the words of the reader: a tuple a key."""
    keys = []
    for row in rows:
        if row[0] in ("pub", "sub"):
            entry = {
                "created": int(row[5]),
                "expires": int(row[6]) if row[6] else None,
                "revoked": row[1] == "r",
                "can_sign": "s" in row[11],
            }
            if row[0] == "pub":
                keys.append({**entry, "user_ids": [], "subkeys": []})
            else:
                keys[-1]["subkeys"].append(entry)
        elif row[0] == "fpr":
            (keys[-1]["subkeys"] or keys[-1:])[-1]["fingerprint"] = row[9]
        elif row[0] == "uid":
            keys[-1]["user_ids"].append(row[9])
    for key in keys:
        del key["can_sign"]
    return keys


def as_read(keys):
    def escaped(text):
        return text.replace("\\", "\\x5c").replace(":", "\\x3a")

    return [
        {
            "fingerprint": key.fingerprint,
            "created": key.created,
            "expires": key.expires,
            "revoked": key.revoked,
            "user_ids": [escaped(uid) for uid in key.user_ids],
            "subkeys": [
                {name: getattr(sub, name) for name in ("created", "expires", "revoked", "can_sign", "fingerprint")}
                for sub in key.subkeys
            ],
        }
        for key in keys
    ]


def sorted_uids(keys):
    """gpg lists the primary user ID first, wherever it stands in the file."""
    return [{**key, "user_ids": sorted(key["user_ids"])} for key in keys]


@needs_gpg
@pytest.mark.parametrize(
    "kind",
    ["rsa", "ed25519", "nistp256, expired", "extended", "extended to never", "revoked", "several user IDs",
     "several subkeys"],
)  # fmt: skip
def test_every_kind_of_key_reads_as_gpg_reads_it(home, kinds, kind):
    data = home.export(kinds[kind])
    shown = as_gpg_shows(home.show(data))
    assert [key["fingerprint"] for key in shown] == [kinds[kind]]
    assert sorted_uids(as_read(openpgp.read(data))) == sorted_uids(shown)


@needs_gpg
def test_what_the_kinds_were_made_for(home, kinds):
    """The comparison with gpg would also pass if the keys had not become what their names say."""
    now = int(time.time())
    keys = {kind: openpgp.read(home.export(fingerprint))[0] for kind, fingerprint in kinds.items()}
    assert keys["nistp256, expired"].expires < now
    assert now + 719 * DAY < keys["extended"].expires < now + 721 * DAY
    assert keys["extended to never"].expires is None
    assert [kind for kind, key in keys.items() if key.revoked] == ["revoked"]
    assert len(keys["several user IDs"].user_ids) == 3
    subkeys = keys["several subkeys"].subkeys
    assert [(sub.can_sign, sub.revoked) for sub in subkeys] == [(True, False), (True, False), (False, True)]
    assert subkeys[0].expires < now < subkeys[1].expires < keys["several subkeys"].expires
    assert keys["several subkeys"].signs_until == subkeys[1].expires
    assert keys["ed25519"].signs_until == keys["ed25519"].expires, "an encryption subkey signs nothing"


SYSTEM = [*sorted(Path("/usr/share/keyrings").glob("*.[ga][ps][gc]")),
          *sorted(Path("/etc/apt/trusted.gpg.d").glob("*.[ga][ps][gc]"))]  # fmt: skip


@needs_gpg
@pytest.mark.parametrize("path", SYSTEM, ids=lambda path: path.name)
def test_the_keyrings_of_this_machine_read_as_gpg_reads_them(home, path):
    data = path.read_bytes()
    read = openpgp.read(data)
    assert sorted_uids(as_read(read)) == sorted_uids(as_gpg_shows(home.show(data)))
    written = openpgp.select(read, [key.fingerprint for key in read]).data
    assert sorted_uids(as_read(read)) == sorted_uids(as_gpg_shows(home.show(written)))


# Every form in which an archive may serve a key becomes the same keyring.

FORMS = {
    "binary": lambda binary, text: binary,
    "armoured": lambda binary, text: text,
    "key-binary-plus-armoured": lambda binary, text: binary + text,
    "binary, line, armoured": lambda binary, text: binary + b"\r\n" + text,
    "binary twice": lambda binary, text: binary + binary,
    "armoured twice": lambda binary, text: text + text,
    "CRLF": lambda binary, text: text.replace(b"\n", b"\r\n"),
    "CR": lambda binary, text: text.replace(b"\n", b"\r"),
    "byte order mark": lambda binary, text: b"\xef\xbb\xbf" + text,
    "indented": lambda binary, text: re.sub(rb"(?m)^", b"  ", text),
    "text around": lambda binary, text: b"The key of <the> archive:\n" + text + b"-- \nthat was all\n",
    "headers": lambda binary, text: text.replace(b"BLOCK-----\n\n", b"BLOCK-----\nVersion: 1\nComment: x: y\n\n", 1),
    "no checksum": lambda binary, text: re.sub(rb"\n=[A-Za-z0-9+/]{4}\n", b"\n", text),
    "one long line": lambda binary, text: re.sub(rb"(?<=[A-Za-z0-9+/])\n(?=[A-Za-z0-9+/])", b"", text),
    "new format": lambda binary, text: new_format(binary),
    "trust and marker packets": lambda binary, text: b"\xca\x03PGP" + binary + b"\xb0\x02\x06\x01",
    "an unknown noncritical packet": lambda binary, text: binary + b"\xfc\x01x",
}


def new_format(binary):
    """Re-write packets with new-format headers, all three lengths of them."""
    out = b""
    for packet in packets.split(binary)[0]:
        size = len(packet.body)
        if size < 192:
            length = bytes([size])
        elif size < 8384:
            length = bytes([(size - 192 >> 8) + 192, (size - 192) & 0xFF])
        else:
            length = b"\xff" + size.to_bytes(4, "big")
        out += bytes([0xC0 | packet.tag]) + length + packet.body
    return out


@needs_gpg
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", ["rsa", "several subkeys"])
def test_every_served_form_becomes_the_same_keyring(home, kinds, kind, form):
    fingerprint = kinds[kind]
    binary, text = home.export(fingerprint), home.export(fingerprint, armour=True)
    served = FORMS[form](binary, text)
    assert form == "binary" or served != binary
    selection = openpgp.normalise(served, [fingerprint])
    assert selection.data == binary, "gpg's own binary export"
    assert (selection.foreign, selection.missing) == ((), ())


@needs_gpg
def test_gpgv_accepts_with_the_written_keyring_what_the_key_signed(home, kinds, tmp_path):
    fingerprint = kinds["several subkeys"]
    served = home.export(fingerprint) + home.export(fingerprint, armour=True)
    (tmp_path / "Release").write_bytes(b"Origin: test\n")
    home.gpg("--local-user", fingerprint, "--output", str(tmp_path / "InRelease"), "--clear-sign",
             str(tmp_path / "Release"))  # fmt: skip

    def gpgv(keyring):
        (tmp_path / "key.gpg").write_bytes(keyring)
        command = ["gpgv", "--keyring", str(tmp_path / "key.gpg"), str(tmp_path / "InRelease")]
        return subprocess.run(command, capture_output=True).returncode

    assert gpgv(served) != 0, "what is served cannot be used as it is, which is why there is a reader"
    assert gpgv(openpgp.normalise(served, [fingerprint]).data) == 0
    other = kinds["rsa"]
    assert gpgv(openpgp.normalise(home.export(other), [other]).data) != 0


@needs_gpg
def test_copies_of_a_key_are_merged_so_that_neither_a_later_expiry_nor_a_revocation_is_lost(home):
    now = int(time.time())
    fingerprint = home.make("Merged", expires="100d", at=now - 300 * DAY)
    old = home.export(fingerprint)
    home.gpg("--quick-set-expire", fingerprint, "300d")
    new = home.export(fingerprint)
    assert openpgp.read(old)[0].expires < now < openpgp.read(new)[0].expires
    revocation = (home.path / "openpgp-revocs.d" / f"{fingerprint}.rev").read_bytes()
    home.gpg("--import", data=revocation.replace(b":-----BEGIN", b"-----BEGIN"))
    revoked = home.export(fingerprint)
    for served in (old + new, new + old):
        (key,) = openpgp.read(served)
        assert (key.expires, key.revoked) == (openpgp.read(new)[0].expires, False)
    for served in (revoked + old, old + revoked + new):
        (key,) = openpgp.read(served)
        assert (key.expires, key.revoked) == (openpgp.read(new)[0].expires, True)
        assert as_read([key]) == as_gpg_shows(home.show(openpgp.select([key], [fingerprint]).data))


@needs_gpg
def test_only_wanted_primary_keys_are_chosen(home, kinds):
    ring = home.export(kinds["rsa"], kinds["several subkeys"], kinds["revoked"])
    selection = openpgp.normalise(ring, [kinds["revoked"], "A" * 40, kinds["rsa"], kinds["rsa"]])
    assert [key.fingerprint for key in selection.keys] == [kinds["revoked"], kinds["rsa"]]
    assert [key.fingerprint for key in selection.foreign] == [kinds["several subkeys"]]
    assert selection.missing == ("A" * 40,)
    shown = as_gpg_shows(home.show(selection.data))
    assert sorted(key["fingerprint"] for key in shown) == sorted([kinds["revoked"], kinds["rsa"]])


@needs_gpg
def test_a_foreign_key_is_not_chosen_for_a_subkey_of_the_wanted_fingerprint(home, kinds):
    (key,) = openpgp.read(home.export(kinds["several subkeys"]))
    wanted = key.subkeys[0].fingerprint
    assert openpgp.select([key], [wanted]).missing == (wanted,)


@needs_gpg
def test_what_others_signed_changes_neither_expiry_nor_revocation(home, kinds):
    """A foreign revocation and a foreign certification behind the key's own packets are nobody's business."""
    victim, other = home.export(kinds["rsa"]), home.export(kinds["revoked"])
    foreign = [packet for packet in packets.split(other)[0] if packet.tag == packets.SIGNATURE]
    parts, _ = packets.split(victim)
    parts[1:1] = foreign
    assert not openpgp.read(b"".join(part.encode() for part in parts))[0].revoked
    own = openpgp.read(other)[0]
    assert own.revoked, "the same signatures count on the key that made them"


@needs_gpg
def test_a_lifetime_in_the_unhashed_area_counts_nothing(home, kinds):
    binary = home.export(kinds["ed25519"])
    parts, _ = packets.split(binary)
    at = next(i for i, part in enumerate(parts) if part.tag == packets.SIGNATURE)
    body = parts[at].body
    hashed_end = 6 + int.from_bytes(body[4:6], "big")
    size = int.from_bytes(body[hashed_end : hashed_end + 2], "big")
    lifetime = b"\x05\x09" + (1).to_bytes(4, "big")
    area = body[hashed_end + 2 : hashed_end + 2 + size] + lifetime
    forged = body[:hashed_end] + len(area).to_bytes(2, "big") + area + body[hashed_end + 2 + size :]
    parts[at] = packets.Packet(packets.SIGNATURE, forged)
    changed = b"".join(part.encode() for part in parts)
    assert changed != binary
    assert openpgp.read(changed)[0].expires == openpgp.read(binary)[0].expires


def test_the_version_6_certificate_of_the_standard():
    (key,) = openpgp.read(V6)
    assert (key.fingerprint, key.version, key.expires, key.revoked) == (V6_FINGERPRINT, 6, None, False)
    assert key.self_signed
    assert [sub.fingerprint[:16] for sub in key.subkeys] == ["12C83F1E706F6308"]
    assert openpgp.normalise(V6, [V6_FINGERPRINT]).data[:2] == b"\x98\x2a"


def made_up(version, *parts):
    """Return a key without any cryptography in it: signatures are (packets before it, kind, created, lifetime)."""
    body = bytes([version]) + (1000).to_bytes(4, "big") + b"\x16" + b"\x00\x00\x00\x04" * (version > 4) + b"abcd"
    key = packets.Packet(packets.PUBLIC_KEY, body)
    fingerprint = openpgp.read(key.encode())[0].fingerprint
    key_id = bytes.fromhex(fingerprint[-16:] if version == 4 else fingerprint[:16])
    data = key.encode()
    for before, kind, created, lifetime in parts:
        hashed = b"\x05\x02" + created.to_bytes(4, "big") + b"\x05\x09" + lifetime.to_bytes(4, "big")
        unhashed = b"\x09\x10" + key_id
        signature = bytes([4, kind, 22, 8]) + len(hashed).to_bytes(2, "big") + hashed
        signature += len(unhashed).to_bytes(2, "big") + unhashed + b"\x00\x00"
        data += before + packets.Packet(packets.SIGNATURE, signature).encode()
    return data


UID = packets.Packet(packets.USER_ID, b"uid").encode()


@pytest.mark.parametrize("version", [4, 5])
@pytest.mark.parametrize(
    ("parts", "expires"),
    [
        ([(UID, 0x13, 2000, 50)], 1050),
        ([(b"", 0x1F, 2000, 70), (UID, 0x13, 3000, 50)], 1070),
        ([(b"", 0x1F, 2000, 70), (b"", 0x1F, 2500, 90), (UID, 0x13, 3000, 50)], 1090),
        ([(b"", 0x1F, 2000, 0), (UID, 0x13, 3000, 50)], 1050),
        ([(UID, 0x13, 2000, 50), (b"", 0x13, 3000, 0)], None),
        ([(UID, 0x13, 2000, 50), (b"", 0x30, 3000, 0)], None),
        ([(UID, 0x10, 2000, 50), (b"", 0x12, 1999, 60)], 1050),
        ([(UID, 0x18, 2000, 50)], None),
    ],
)
def test_a_direct_signature_counts_before_user_ids_and_the_newest_of_each(version, parts, expires):
    (key,) = openpgp.read(made_up(version, *parts))
    assert (key.version, key.created, key.expires) == (version, 1000, expires)
    assert len(key.fingerprint) == (40 if version == 4 else 64)


# What is no key.

V6_BINARY = armour.decode(V6)[0]


@pytest.mark.parametrize(
    ("data", "error", "message"),
    [
        (b"", openpgp.EmptyError, "empty"),
        (b" \r\n\n", openpgp.EmptyError, "empty"),
        (b"x" * (openpgp.MAX_BYTES + 1), openpgp.TooLargeError, "1048577 bytes"),
        (b"<!DOCTYPE html><html><head><title>Log\x1b[2Jin</title>", openpgp.HtmlError, r"titled 'Log\\x1b\[2Jin'"),
        (b"\r\n <HTML>nothing here", openpgp.HtmlError, "web page"),
        (b"\xef\xbb\xbf<html>", openpgp.HtmlError, "web page"),
        (b'{"error": "not found"}', openpgp.NotAKeyError, "begins with '{"),
        (b"\x89PNG\r\n\x1a\n", openpgp.NotAKeyError, "not with a public key"),
        (b"\x1f\x8b\x08\x00", openpgp.NotAKeyError, "begins with"),
        (b"\xff\xfe<\x00h\x00", openpgp.NotAKeyError, "not with a public key"),
        (b"\x00\x00\x00\x20\x01\x01\x00\x02KBXf" + bytes(20), openpgp.NotAKeyError, "keybox"),
        (b"-----BEGIN PGP SIGNATURE-----\n\nabcd\n", openpgp.NotAKeyError, "PGP SIGNATURE"),
        (b"-----BEGIN PGP PRIVATE KEY BLOCK-----\n\n", openpgp.SecretKeyError, "private key"),
        (V6_BINARY + b"-----BEGIN PGP PRIVATE KEY BLOCK-----\n\n", openpgp.SecretKeyError, "private key"),
        (V6[:300], openpgp.TruncatedError, "no END line"),
        (V6_BINARY[:-1], openpgp.TruncatedError, "of which"),
        (V6_BINARY[:1], openpgp.TruncatedError, "within a length"),
        (V6_BINARY + V6[:300], openpgp.TruncatedError, "no END line"),
        (V6_BINARY + b"garbage", openpgp.DamagedError, "after 424 bytes of binary key comes 'garbage'"),
        (V6.replace(b"xioG", b"xi!G"), openpgp.DamagedError, "no base64"),
        (V6.replace(b"BLOCK-----\n\n", b"BLOCK-----\n"), openpgp.DamagedError, "armour header"),
        (V6.replace(b"\n-----END", b"\n=AAAA\n-----END"), openpgp.DamagedError, "checksum is wrong"),
        (V6.replace(b"GBg==", b"GBg="), openpgp.DamagedError, "base64"),
        (b"\xc6\xe1" + bytes(9), openpgp.DamagedError, "partial length"),
        (b"\x9b" + bytes(9), openpgp.DamagedError, "indeterminate length"),
        (b"\xc6\x01\x04", openpgp.DamagedError, "too short"),
        (b"\xc6\x02\x03\x00", openpgp.NotAKeyError, "version 3"),
        (V6_BINARY + b"\xcb\x01x", openpgp.NotAKeyError, "tag 11"),
        (b"\xc2\x01\x04" + V6_BINARY, openpgp.NotAKeyError, "not with a public key"),
        (b"\xca\x03PGP", openpgp.NotAKeyError, "no public key"),
    ],
)  # fmt: skip
def test_what_is_no_key_is_named(data, error, message):
    with pytest.raises(openpgp.OpenPgpError, match=message) as caught:
        openpgp.read(data)
    assert type(caught.value) is error


@needs_gpg
@pytest.mark.parametrize("armoured", [False, True])
def test_a_secret_key_is_refused_also_behind_a_public_one(home, kinds, armoured):
    secret = home.gpg("--export-secret-keys", *(["--armor"] if armoured else []), kinds["rsa"])
    for data in (secret, home.export(kinds["ed25519"]) + secret):
        with pytest.raises(openpgp.SecretKeyError):
            openpgp.read(data)


@needs_gpg
def test_an_old_key_beside_a_usable_one_is_skipped_with_all_that_hangs_on_it(home, kinds):
    old = b"\x99\x00\x0a\x03" + bytes(9) + b"\xb4\x03old" + b"\x88\x01\x03"
    assert openpgp.normalise(old + home.export(kinds["rsa"]), [kinds["rsa"]]).data == home.export(kinds["rsa"])


@needs_gpg
def test_a_key_without_self_signature_is_told_apart(home, kinds):
    """What is left of a key that was cut off behind its first packet."""
    first = packets.split(home.export(kinds["rsa"]))[0][0]
    assert not openpgp.read(first.encode())[0].self_signed
    assert openpgp.read(home.export(kinds["rsa"]))[0].self_signed


def test_the_checksum_is_that_of_the_standard():
    # The usual check value of CRC-24/OPENPGP.
    assert armour.crc24(b"123456789") == 0x21CF02


def mutated(data, rng):
    """Damage data in one of the ways in which files get damaged, or are made to do damage."""
    data = bytearray(data)
    for _ in range(rng.choice([1, 1, 1, 3, 10])):
        at = rng.randrange(len(data) + 1)
        how = rng.randrange(6)
        if how == 0:
            data[at : at + 1] = bytes([rng.randrange(256)])
        elif how == 1:
            del data[at : at + rng.choice([1, 2, 50])]
        elif how == 2:
            data[at:at] = rng.randbytes(rng.choice([1, 4, 60]))
        elif how == 3:
            del data[at:]
        elif how == 4:
            data[at : at + 4] = rng.choice([b"\xff\xff\xff\xff", b"\x00\x00\x00\x00", b"\x7f\xff\xff\xff"])
        else:
            data[at:at] = data[rng.randrange(len(data) + 1) :][: rng.choice([3, 30, 300])]
        if not data:
            break
    return bytes(data)


@needs_gpg
def test_damaged_keys_raise_the_declared_error_or_read_as_something(home, kinds):
    """A few here; HALO_FUZZ_COUNT and HALO_FUZZ_SEED run more."""
    rng = random.Random(int(os.environ.get("HALO_FUZZ_SEED", "1")))  # noqa: S311 - damage, not secrets
    sound = [V6, V6_BINARY]
    for fingerprint in kinds.values():
        sound += [home.export(fingerprint), home.export(fingerprint, armour=True)]
    fingerprints = set(kinds.values()) | {V6_FINGERPRINT}
    refused = kept = 0
    for _ in range(int(os.environ.get("HALO_FUZZ_COUNT", "3000"))):
        data = mutated(rng.choice(sound), rng)
        try:
            keys = openpgp.read(data)
        except openpgp.OpenPgpError as error:
            assert str(error).isprintable(), data
            refused += 1
            continue
        kept += 1
        written = openpgp.select(keys, [key.fingerprint for key in keys]).data
        assert [key.as_dict() for key in openpgp.read(written)] == [key.as_dict() for key in keys], data
        for key in keys:
            # Damage in the key material makes another key, never the wanted one.
            if key.fingerprint in fingerprints:
                assert openpgp.read(key.encode())[0].fingerprint == key.fingerprint
            assert all(uid.isprintable() for uid in key.user_ids), data
    assert refused and kept, "the mutations are too strong or too weak to say anything"


def test_many_small_packets_are_read_in_reasonable_time():
    """A file of the greatest size made of the smallest signatures must not take quadratic time."""
    key = packets.split(V6_BINARY)[0][0].encode()
    signatures = b"".join(b"\xc2\x04\x03" + index.to_bytes(3, "big") for index in range(170_000))
    started = time.process_time()
    openpgp.read(key + signatures)
    assert time.process_time() - started < 20


def test_base64_of_the_sample_is_what_the_block_holds():
    assert base64.b64encode(V6_BINARY) == b"".join(V6.splitlines()[2:-1])
