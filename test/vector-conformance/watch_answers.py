"""A pytest plugin: sends clients to the gateway under test, and writes one JSON line a test to CONFORMANCE_OUT.

A failed test's line has the last answer of the test that was refused (status and words), and where it failed.
"""

import json
import os

import httpx
import pytest
import qdrant_client
import requests

URL = os.environ["CONFORMANCE_URL"]
KEY = os.environ["CONFORMANCE_KEY"]
OUT = open(os.environ["CONFORMANCE_OUT"], "w", encoding="utf-8")

refused = None


def note(status, text):
    global refused
    if status < 400:
        return
    try:
        words = json.loads(text)["status"]["error"]
    except (ValueError, KeyError, TypeError):
        words = text[:300]
    refused = {"status": status, "words": words}


# The client of the tests' own has its address written into them.
plain_init = qdrant_client.QdrantClient.__init__


def init(self, *args, **kwargs):
    if kwargs.get("host") == "localhost":
        for name in ("host", "port"):
            kwargs.pop(name)
        # Half of the tests ask for gRPC, which is not served: what they say is the same by REST.
        kwargs.update(url=URL, api_key=KEY, prefer_grpc=False, check_compatibility=False)
    plain_init(self, *args, **kwargs)


qdrant_client.QdrantClient.__init__ = init

plain_httpx = httpx.Client.send


def send_httpx(self, *args, **kwargs):
    response = plain_httpx(self, *args, **kwargs)
    response.read()
    note(response.status_code, response.text)
    return response


httpx.Client.send = send_httpx

plain_requests = requests.Session.send


def send_requests(self, request, **kwargs):
    if request.url.startswith(URL):
        request.headers.setdefault("api-key", KEY)
    response = plain_requests(self, request, **kwargs)
    note(response.status_code, response.text)
    return response


requests.Session.send = send_requests


def pytest_runtest_logstart(nodeid, location):
    global refused
    refused = None


@pytest.hookimpl
def pytest_runtest_logreport(report):
    if report.passed and report.when != "call":
        return
    line = {"test": report.nodeid, "outcome": report.outcome, "when": report.when}
    if report.failed:
        crash = getattr(report.longrepr, "reprcrash", None)
        said = crash.message if crash is not None else str(report.longrepr)
        line["said"] = said.strip().split("\n")[0][:300]
        line["refused"] = refused
    OUT.write(json.dumps(line) + "\n")
    OUT.flush()
