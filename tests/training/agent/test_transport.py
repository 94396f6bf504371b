"""The way to the server: TLS, proxies, redirects, and connections that break."""

from __future__ import annotations

import hashlib
import re
import shutil
import socket
import socketserver
import ssl
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from conftest import missing
from potato.training.agent import proxies, tls
from potato.training.agent.client import Client, Refused, TooLarge, read_job
from potato.training.agent.transport import CutOff, HttpTransport, NotStored, Unreachable, Unusable
from standin import BACKEND, TOKEN, StandIn, serving

WHO = {"host": "h", "workdir": "/w", "session": "0123456789abcdef"}


def client(
    url: str, environment: dict[str, str] | None = None, ca: str | None = None, fingerprint: str | None = None
) -> Client:
    return Client(HttpTransport(url, environment or {}, ca, fingerprint), TOKEN, BACKEND)


def claim(
    url: str, environment: dict[str, str] | None = None, ca: str | None = None, fingerprint: str | None = None
) -> Any:
    made = client(url, environment, ca, fingerprint)
    try:
        return made.claim(WHO, 0)
    finally:
        made.close()


# Proxies


class Proxy:
    """A forward proxy: whatever host is asked for, it asks the stand-in. `asked` are the request lines and the
    credentials; `page` is answered instead where it is set."""

    def __init__(self, port: int) -> None:
        self.asked: list[tuple[str, str]] = []
        self.page = b""
        outer = self

        class Handler(socketserver.BaseRequestHandler):
            def handle(self) -> None:
                head = b""
                while b"\r\n\r\n" not in head:
                    head += self.request.recv(65536)
                lines = head.decode("latin-1").split("\r\n")
                given = [line.partition(": ")[2] for line in lines if line.lower().startswith("proxy-authorization:")]
                outer.asked.append((lines[0], "".join(given)))
                if outer.page:
                    self.request.sendall(outer.page)
                    return
                with socket.create_connection(("127.0.0.1", port)) as onward:
                    if lines[0].startswith("CONNECT"):
                        self.request.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
                    else:
                        method, url, version = lines[0].split(" ")
                        onward.sendall(
                            head.replace(lines[0].encode(), f"{method} /{url.split('/', 3)[3]} {version}".encode())
                        )
                    back = threading.Thread(target=outer.pump, args=(onward, self.request))
                    back.start()
                    outer.pump(self.request, onward)
                    back.join()

        self.server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()
        self.port = self.server.server_address[1]

    @staticmethod
    def pump(source: socket.socket, target: socket.socket) -> None:
        try:
            while data := source.recv(65536):
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)
        except OSError:
            return

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture
def proxy(standin: StandIn) -> Iterator[Proxy]:
    made = Proxy(standin.port)
    yield made
    made.close()


@pytest.mark.parametrize("name", ["http_proxy", "HTTP_PROXY", "all_proxy"])
def test_a_proxy_is_used(proxy: Proxy, name: str) -> None:
    """remote 35"""
    environment = {name: f"http://me:p%40ss@127.0.0.1:{proxy.port}"}
    assert claim("http://potato.test/", environment).job is None
    assert proxy.asked == [("POST http://potato.test/training/agent/v1/claim HTTP/1.1", "Basic bWU6cEBzcw==")]


def test_this_machine_is_never_reached_by_a_proxy(standin: StandIn) -> None:
    """remote 35: the proxy is dead"""
    dead = {"http_proxy": "http://127.0.0.1:1", "HTTP_PROXY": "http://127.0.0.1:1", "all_proxy": "http://127.0.0.1:1"}
    assert claim(standin.url, dead).job is None
    assert claim(standin.url.replace("127.0.0.1", "localhost"), dead).job is None


def test_a_proxy_that_is_dead_is_named(standin: StandIn) -> None:
    with pytest.raises(Unreachable, match=r"http://potato\.test, by the proxy 127\.0\.0\.1:1, ?: .*refused"):
        claim("http://potato.test", {"http_proxy": "http://u:secret@127.0.0.1:1"})


@pytest.mark.parametrize("status", ["200 OK", "403 Forbidden", "407 Proxy Authentication Required", "503 No"])
def test_a_proxys_own_page_is_told_from_the_servers_answer(proxy: Proxy, status: str) -> None:
    """remote 35"""
    page = b"<html>blocked</html>"
    proxy.page = b"HTTP/1.1 %s\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n%s" % (
        status.encode(), len(page), page
    )  # fmt: skip
    environment = {"http_proxy": f"http://127.0.0.1:{proxy.port}", "https_proxy": f"http://127.0.0.1:{proxy.port}"}
    with pytest.raises(Unreachable, match="not Potato's") as caught:
        claim("http://potato.test", environment)
    assert not isinstance(caught.value, Unusable)
    if not status.startswith("200"):
        with pytest.raises(Unreachable, match="Tunnel connection failed"):
            claim("https://potato.test", environment)


@pytest.mark.parametrize(
    ("host", "no_proxy", "direct"),
    [
        ("potato.test", "potato.test", True),
        ("potato.test", "other.test", False),
        ("a.potato.test", "potato.test", True),
        ("a.potato.test", ".potato.test", True),
        ("apotato.test", "potato.test", False),
        ("POTATO.test", "potato.TEST", True),
        ("potato.test", "*", True),
        ("a.potato.test", "x, *.potato.test", True),
        ("potato.test", "potato.test:8000", True),
        ("potato.test", "potato.test:80", False),
        ("10.1.2.3", "10.0.0.0/8", True),
        ("10.1.2.3", "10.0.0.0/16", False),
        ("10.1.2.3", "10.1.2.3", True),
        ("10.1.2.3", "192.168.0.0/16 10.1.0.0/16", True),
        ("10.1.2.3", "nonsense/8", False),
        ("fd00::1", "fd00::/8", True),
        ("fd00::1", "fe80::/10,10.0.0.0/8", False),
        ("127.0.0.1", "", True),
        ("127.9.9.9", "", True),
        ("::1", "", True),
        ("localhost", "", True),
    ],
)
@pytest.mark.parametrize("name", ["no_proxy", "NO_PROXY"])
def test_no_proxy(host: str, no_proxy: str, direct: bool, name: str) -> None:
    """remote 35"""
    found = proxies.choose("http", host, 8000, {"HTTP_PROXY": "proxy.test:3128", name: no_proxy})
    assert (found is None) == direct
    if found is not None:
        assert (found.host, found.port) == ("proxy.test", 3128)


def test_lower_case_wins_and_schemes_differ() -> None:
    environment = {"HTTP_PROXY": "http://upper:1", "http_proxy": "http://lower:2", "HTTPS_PROXY": "http://tls:3"}
    assert proxies.choose("http", "potato.test", 80, environment).host == "lower"  # type: ignore[union-attr]
    assert proxies.choose("https", "potato.test", 443, environment).host == "tls"  # type: ignore[union-attr]


def test_a_proxys_password_is_in_no_text() -> None:
    found = proxies.choose("http", "potato.test", 80, {"http_proxy": "http://me:secret@proxy:1"})
    assert "secret" not in repr(found)
    assert "c2VjcmV0" not in repr(found)


# TLS


def openssl(*arguments: str, cwd: Path) -> None:
    subprocess.run(["openssl", *arguments], cwd=cwd, check=True, capture_output=True)


@pytest.fixture(scope="session")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., ssl.SSLContext]:
    """A private certificate authority, in `folder`; makes a server's context for a name."""
    if shutil.which("openssl") is None:
        missing("openssl")
    folder = tmp_path_factory.mktemp("ca")
    key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
    openssl("req", "-x509", *key, "-keyout", "ca.key", "-out", "ca.pem", "-subj", "/CN=Test CA", cwd=folder)

    def make(name: str, alternative: str, days: int = 1) -> ssl.SSLContext:
        openssl("req", *key, "-keyout", f"{name}.key", "-out", f"{name}.csr", "-subj", f"/CN={name}", cwd=folder)
        (folder / f"{name}.ext").write_text(f"subjectAltName={alternative}\n")
        signing = ("-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", str(days))
        files = ("-in", f"{name}.csr", "-out", f"{name}.pem", "-extfile", f"{name}.ext")
        openssl("x509", "-req", *files, *signing, cwd=folder)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(folder / f"{name}.pem", folder / f"{name}.key")
        return context

    make.folder = folder  # type: ignore[attr-defined]
    return make


def ca_of(authority: Any) -> str:
    return str(authority.folder / "ca.pem")


def test_a_private_authority_is_trusted_when_it_is_named(authority: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """remote 36"""
    with serving(tls=authority("here", "IP:127.0.0.1")) as standin:
        with pytest.raises(Unusable, match=r"is not trusted here: .*--ca FILE, or name it in SSL_CERT_FILE"):
            claim(standin.url)
        assert claim(standin.url, ca=ca_of(authority)).job is None
        monkeypatch.setenv("SSL_CERT_FILE", ca_of(authority))
        assert claim(standin.url).job is None


def test_what_is_wrong_with_a_certificate_is_said(authority: Any) -> None:
    """remote 36"""
    with (
        serving(tls=authority("there", "DNS:other.test")) as standin,
        pytest.raises(Unusable, match=r"127\.0\.0\.1.*Use the name that the certificate is for"),
    ):
        claim(standin.url, ca=ca_of(authority))
    with (
        serving(tls=authority("old", "IP:127.0.0.1", days=-1)) as standin,
        pytest.raises(Unusable, match=r"certificate has expired.*this machine's clock"),
    ):
        claim(standin.url, ca=ca_of(authority))


def not_yet_valid(authority: Any) -> ssl.SSLContext:
    """A server's context whose certificate begins in the year 2090."""
    folder = authority.folder
    (folder / "index").touch()
    (folder / "ca.cnf").write_text(
        f"[ca]\ndefault_ca=x\n[x]\nnew_certs_dir={folder}\ndatabase={folder}/index\nserial={folder}/serial\n"
        "default_md=sha256\npolicy=p\n[p]\ncommonName=supplied\n"
    )
    authority("early", "IP:127.0.0.1")  # its key and request
    dates = ("-startdate", "20900101000000Z", "-enddate", "20910101000000Z")
    files = ("-in", "early.csr", "-out", "early.pem", "-keyfile", "ca.key", "-cert", "ca.pem", "-extfile", "early.ext")
    openssl("ca", "-batch", "-config", "ca.cnf", "-create_serial", *files, *dates, cwd=folder)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "early.pem", folder / "early.key")
    return context


def test_a_certificate_that_is_not_yet_valid_leads_to_the_clock(authority: Any) -> None:
    """remote 40"""
    with (
        serving(tls=not_yet_valid(authority)) as standin,
        pytest.raises(Unusable, match=r"not trusted here: certificate is not yet valid\. Look at this machine's clock"),
    ):
        claim(standin.url, ca=ca_of(authority))


def test_who_reads_along_is_named(authority: Any) -> None:
    """remote 36: a proxy that shows a certificate of its own; it gets no token to read."""
    with serving(tls=authority("potato.test", "DNS:potato.test")) as standin:
        proxy = Proxy(standin.port)
        try:
            with pytest.raises(Unusable, match=r"https://potato\.test, issued by 'Test CA', is not trusted here"):
                claim("https://potato.test", {"https_proxy": f"http://127.0.0.1:{proxy.port}"})
        finally:
            proxy.close()
        assert standin.requests == []


def test_one_certificate_is_trusted_by_its_fingerprint(authority: Any) -> None:
    """remote 36: whoever issued it, and whatever it is called; nothing is sent to any other."""
    with serving(tls=authority("pinned", "DNS:other.test")) as standin:
        der = ssl.PEM_cert_to_DER_cert((authority.folder / "pinned.pem").read_text())
        right = hashlib.sha256(der).hexdigest()
        assert claim(standin.url, fingerprint=right).job is None
        assert claim(standin.url, fingerprint=":".join(re.findall("..", right.upper()))).job is None
        asked = len(standin.requests)
        with pytest.raises(Unusable, match=r"has the fingerprint ([0-9A-F]{2}:){31}[0-9A-F]{2}, and not the one"):
            claim(standin.url, ca=ca_of(authority), fingerprint=right[:-1] + "0123456789abcdef"[int(right[-1], 16) - 1])
        assert len(standin.requests) == asked
        proxy = Proxy(standin.port)
        try:
            environment = {"https_proxy": f"http://127.0.0.1:{proxy.port}"}
            assert claim("https://potato.test", environment, fingerprint=right).job is None
        finally:
            proxy.close()


@pytest.mark.parametrize("der", [b"", b"\x30", b"\x30\x82", b"\x30\x03abc", b"\x30\x84\xff\xff\xff\xff", b"\x00" * 50])
def test_an_issuer_that_cannot_be_read_is_left_out(der: bytes) -> None:
    assert tls.issuer(der) == ""


def test_tls_through_a_proxy(authority: Any) -> None:
    with serving(tls=authority("far", "DNS:potato.test")) as standin:
        proxy = Proxy(standin.port)
        try:
            environment = {"https_proxy": f"http://me:you@127.0.0.1:{proxy.port}"}
            assert claim("https://potato.test", environment, ca_of(authority)).job is None
            assert proxy.asked == [("CONNECT potato.test:443 HTTP/1.1", "Basic bWU6eW91")] or (
                proxy.asked[0][0].startswith("CONNECT potato.test:443 ")
            )
        finally:
            proxy.close()


# Redirects


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize(
    ("location", "said"),
    [
        (
            "https://127.0.0.1/app/training/agent/v1/claim",
            r"the server wants https: use --server https://127\.0\.0\.1/app",
        ),
        ("https://127.0.0.1:8443/x", r"use --server https://127\.0\.0\.1:8443/app"),
        ("https://elsewhere.test/x", r"sends this agent elsewhere \(https://elsewhere\.test/x\)"),
        ("http://127.0.0.1:1/x", r"sends this agent elsewhere"),
        ("/login", r"sends this agent elsewhere \(/login\)"),
        ("", r"sends this agent elsewhere"),
    ],
)
def test_a_redirect_is_never_followed(status: int, location: str, said: str) -> None:
    """remote 38"""
    with serving(prefix="/app") as standin:
        standin.fault = lambda handler: redirect(handler, status, location)
        with pytest.raises(Unusable, match=said):
            claim(standin.url)
        assert len(standin.requests) == 1


def redirect(handler: Any, status: int, location: str) -> str:
    handler._send(status, b"", headers={"Location": location})
    return "drop"


# Connections


def test_a_connection_that_the_server_closed_while_it_was_idle_is_no_news(standin: StandIn) -> None:
    made = client(standin.url)
    assert made.claim(WHO, 0).job is None
    standin.http.cut_all()
    assert made.claim(WHO, 0).job is None
    made.close()


def test_a_dropped_answer_is_unreachable(standin: StandIn) -> None:
    standin.fault = lambda handler: "drop"
    with pytest.raises(Unreachable, match="the connection was closed without an answer"):
        claim(standin.url)


def test_an_answer_that_is_cut_off_is_unreachable(standin: StandIn) -> None:
    standin.fault = lambda handler: "cut"
    with pytest.raises(CutOff):
        claim(standin.url)


def test_a_server_that_does_not_answer_in_time_is_unreachable(standin: StandIn) -> None:
    until = threading.Event()
    standin.fault = lambda handler: str(until.wait(20) and "") and ""
    made = client(standin.url)
    made.limit_s = 0.2
    with pytest.raises(Unreachable, match="no answer in time"):
        made.claim(WHO, 0)
    until.set()
    made.close()


def test_a_json_page_of_something_else_is_no_answer(standin: StandIn) -> None:
    """A captive portal that speaks JSON."""
    standin.claim_answer = lambda: {"login": "required"}
    with pytest.raises(Unreachable, match="not Potato's"):
        claim(standin.url)


def test_an_answer_without_end_is_no_answer(standin: StandIn) -> None:
    standin.claim_answer = lambda: (200, b"x" * (9 << 20), {})
    with pytest.raises(Unreachable, match="more than 8 MB"):
        claim(standin.url)


def test_the_servers_own_refusal_is_final(standin: StandIn) -> None:
    standin.token = "another"
    with pytest.raises(Refused) as caught:
        claim(standin.url)
    assert (caught.value.status, caught.value.code) == (401, "token_not_taken")


def test_a_body_that_is_too_large_for_the_way_is_told_apart(standin: StandIn) -> None:
    standin.fault = lambda handler: "html413"
    with pytest.raises(TooLarge):
        claim(standin.url)


def test_a_disk_that_takes_nothing_is_not_taken_for_the_network(standin: StandIn) -> None:
    """remote 46"""

    def full(piece: bytes) -> None:
        raise OSError(28, "No space left on device")

    transport = HttpTransport(standin.url, {})
    with pytest.raises(NotStored, match="No space left"):
        transport.request("GET", "/x", {}, opener=lambda status, headers: full)
    transport.close()


def test_the_token_is_in_no_text(standin: StandIn) -> None:
    made = client(standin.url)
    assert TOKEN not in repr(made)
    standin.fault = lambda handler: "html500"
    with pytest.raises(Unreachable) as caught:
        made.claim(WHO, 0)
    assert TOKEN not in repr(caught.value)
    made.close()


@pytest.mark.parametrize("given", ["bytes=0-9", None])
def test_another_part_of_the_bundle_than_was_asked_for_is_not_kept(standin: StandIn, given: str | None) -> None:
    """Something on the way ignores or changes the range."""
    run = standin.add("r", b"0123456789")
    came: list[bytes] = []

    def meddle(handler: Any) -> str:
        del handler.headers["Range"]
        if given is not None:
            handler.headers["Range"] = given
        return ""

    made = client(standin.url)
    job = read_job(run.offer())
    made.bundle(job, 4, 10, came.append)
    assert b"".join(came) == b"456789"
    standin.fault = meddle
    with pytest.raises(CutOff):
        made.bundle(job, 4, 10, came.append)
    assert b"".join(came) == b"456789"
    made.close()
