"""A byte order mark is ignored at each door where somebody else's text comes in; a final slash changes no address."""

from __future__ import annotations

import codecs
import gzip
import json
from typing import TYPE_CHECKING

import pytest
from starlette.testclient import TestClient

from pipelines.inbox.receiver import Receiver, make_app
from pipelines.inbox.store import Decoder
from pipelines.ingest.loop import ids_of_file
from pipelines.landing.archives import documents
from pipelines.landing.validate import Validator
from pipelines.settings import load_settings

if TYPE_CHECKING:
    from pathlib import Path

ENCODINGS = {"utf-8-sig": "utf-8-sig", "utf-16": "utf-16", "utf-32": "utf-32"}


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_files_of_people_may_begin_with_a_mark(tmp_path: Path, encoding: str) -> None:
    """Ids and a secret are the same as without one; of settings, which are UTF-8, that of UTF-8 is ignored."""
    ids, secret, settings = tmp_path / "ids.txt", tmp_path / "secret", tmp_path / "om.toml"
    ids.write_bytes("7\r\n8\r\n".encode(encoding))
    assert list(ids_of_file(ids)) == [7, 8]
    secret.write_bytes("word\n".encode(encoding))
    secret.chmod(0o600)
    settings.write_bytes(codecs.BOM_UTF8 + b"[partner]\nmax_attempts = 3\n")
    found = load_settings(settings, {"ORDERMART_PARTNER__CLIENT_SECRET_FILE": str(secret)}).partner
    assert (found.client_secret.reveal(), found.max_attempts) == ("word", 3)


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_a_delivery_may_begin_with_a_mark(encoding: str) -> None:
    """Topic and id are found as without one."""
    decoder = Decoder(load_settings(environ={}).webhooks)
    found = decoder.decode({}, json.dumps({"topic": "orders.update", "data": {"id": 5}}).encode(encoding))
    assert (found.topic, found.id, found.undecodable) == ("orders.update", 5, None)


def test_a_document_may_begin_with_a_mark() -> None:
    """Whichever way it came, it is validated as without one."""
    menu = json.dumps({"id": 1, "name": "Lunch", "categories": []}).encode()
    validator = Validator(load_settings(environ={}), "menus")

    def outcome(body: bytes) -> str:
        try:
            return validator.validate(body).sha256.hex()
        except Exception as error:  # noqa: BLE001 -- the same one
            return str(error)

    assert outcome(codecs.BOM_UTF8 + menu) == outcome(menu)


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("form", ["lines", "array"])
def test_a_file_of_documents_may_begin_with_a_mark(tmp_path: Path, encoding: str, form: str) -> None:
    """Each document is found, packed or not."""
    found, file = ['{"id": 7}', '{"id": 8, "name": "é"}'], tmp_path / "orders.json"
    text = ("[" + ",".join(found) + "]" if form == "array" else "\r\n".join(found)).encode(encoding)
    for content in (text, gzip.compress(text)):
        file.write_bytes(content)
        read = documents(file, whole=False, limits=load_settings(environ={}).landing)
        assert [each.decode() for each in read] == found


WAYS = [
    ("/hooks", "/hooks/"),
    ("/hooks/", "/hooks"),
    ("/hooks", "/hooks"),
    ("/a/b", "//a///b//?x=1"),
    ("//a//b/", "/a/b"),
    ("/", "//"),
]


@pytest.mark.parametrize(("path", "asked"), WAYS)
def test_a_final_slash_is_the_same_address(path: str, asked: str) -> None:
    """A sender does not follow a redirect: with and without the slash a delivery is taken."""
    settings = load_settings(environ={}).webhooks
    taken: list[object] = []
    receiver = Receiver(settings, Decoder(settings), lambda *_: True, taken.append, keeps_bodies=False)

    def put(delivery: object) -> None:
        taken.append(delivery)
        receiver.settled([(delivery.ticket, True)])  # type: ignore[attr-defined]

    receiver._put = put
    with TestClient(make_app(receiver, path)) as client:
        url, body = f"http://receiver{asked}", {"topic": "orders.update", "data": {"id": 5}}
        answer = client.post(url, json=body, follow_redirects=False)
    assert (answer.status_code, len(taken)) == (202, 1)
