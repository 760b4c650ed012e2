"""The page of a running study, served to this machine alone. It has no controls."""

import json
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from bough.exceptions import StudyError
from bough.report.following import Following
from bough.report.page import page, plotly_script
from bough.report.snapshot import snapshot, trial_columns


class Watch(ThreadingHTTPServer):
    """Serves the page of a study at `url`, and what is new to those who ask again.

    Only this machine can reach it, and it only ever reads: nothing that is asked of it can change
    or delay the search.
    """

    daemon_threads = True

    def __init__(self, file: Path, port: int = 0) -> None:
        plotly_script()  # what is missing, or wrong with the file, is said now, not to a browser
        self.following = Following(file)
        self.following.look()
        self._guard = threading.Lock()
        self._shown: tuple[str, dict[str, Any]] = ("", {})  # the last snapshot, and its version
        try:
            super().__init__(("127.0.0.1", port), _Answer)
        except OSError as error:
            raise OSError(f"port {port} cannot be had: {error.strerror}") from error

    @property
    def url(self) -> str:
        """Where to look."""
        return f"http://127.0.0.1:{self.server_address[1]}/"

    def whole_page(self) -> str:
        """Return the page as of now."""
        with self._guard:
            study, _ = self.following.look()
            return page(study, follow=True)

    def news(self, version: str, settled: int) -> dict[str, Any] | None:
        """Return what has changed since a version, None if nothing has.

        `settled`: so many trials the asker has, and they will not change.
        """
        with self._guard:
            study, number = self.following.look()
            beginning = str(self.following.beginnings)
            now = f"{beginning}.{number}"
            if version == now:
                return None
            if self._shown[0] != now:
                self._shown = (now, snapshot(study))
            begin = settled if version.startswith(f"{beginning}.") else 0
            begin = begin if 0 <= begin <= len(study.trials) else 0
            trials = trial_columns(study, begin)
            return {"version": now, "snapshot": self._shown[1], "trials": trials}

    def server_close(self) -> None:
        """Close the socket and the file."""
        super().server_close()
        self.following.close()


class _Answer(BaseHTTPRequestHandler):
    server: Watch

    def do_GET(self) -> None:
        host = self.headers.get("Host", "")
        if host.rsplit(":", 1)[0] not in ("127.0.0.1", "localhost"):
            # A page of somebody else may have given this address a name of its own.
            self.send_error(403, "this page is for this machine only")
            return
        place = urlsplit(self.path)
        try:
            if place.path == "/":
                self._send(200, "text/html; charset=utf-8", self.server.whole_page())
            elif place.path == "/snapshot":
                asked = parse_qs(place.query)
                settled = asked.get("settled", ["0"])[0]
                number = int(settled) if re.fullmatch("[0-9]{1,12}", settled) else 0
                news = self.server.news(asked.get("version", [""])[0], number)
                text = "" if news is None else json.dumps(news, allow_nan=False)
                self._send(204 if news is None else 200, "application/json", text)
            else:
                self.send_error(404)
        except ConnectionError:
            self.close_connection = True  # the browser has gone: nobody to tell
        except (OSError, StudyError) as error:
            self.send_error(503, explain=str(error))
        except Exception as error:  # of ours: the page says what, and goes on asking
            self.send_error(500, explain=repr(error))

    def _send(self, code: int, kind: str, text: str) -> None:
        body = text.encode()
        self.send_response(code)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - as it is called there
        """Say nothing: the terminal is the user's."""
