"""The page of a running study, served to this machine only, without any controls."""

import json
import re
import threading
import warnings
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from bough.exceptions import StudyError
from bough.generation.result import result_of
from bough.generation.study import is_generation
from bough.report import generation
from bough.report.page import page, plotly_script
from bough.report.snapshot import snapshot, trial_columns
from bough.studies.files import signature_of
from bough.studies.journal import Journal
from bough.studies.study import Study, open_to_read


class Follower:
    """A study that is being written, read by a connection that cannot write.

    New operations are applied to the searcher, so that a refresh costs only what is new.
    """

    def __init__(self, file: Path) -> None:
        self.file = file
        self.reloads = 0  # the number of times that the whole file was read
        self._journal: Journal | None = None
        self._study: Study | None = None
        self._next = 0
        self._inode = 0

    def refresh(self) -> tuple[Study, int]:
        """Return the study as it is now, and the number of its operations."""
        if self._study is None or not self._catch_up(self._study):
            self._reload()
        assert self._study is not None  # it was loaded
        return self._study, self._next

    def _reload(self) -> None:
        self.close()
        self._inode = self.file.stat().st_ino
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # `bough study` prints them
            study = open_to_read(self.file)
        self._journal = Journal.open(self.file, "full", read_only=True)
        self._study, self._next = study, study._journal.next
        self.reloads += 1

    def _catch_up(self, study: Study) -> bool:
        """Apply new operations; return whether that was possible."""
        assert self._journal is not None  # it was loaded
        if not self.file.exists() or self.file.stat().st_ino != self._inode:
            return False  # the file was replaced
        new = self._journal.after(self._next, study.specification)
        if new is None or any(operation.kind == "restart" for operation in new):
            return False
        if new and study._replay.run(new) is not None:
            return False  # the searcher deviates from the file: load it again, as observations
        self._next += len(new)
        return True

    def close(self) -> None:
        """Close the file."""
        if self._journal is not None:
            self._journal.close()
        self._journal = self._study = None


class Watch(ThreadingHTTPServer):
    """A server of the page of a study at `url`, and of its changes.

    Only this machine can reach it, and it only reads the file: no request can change or delay the
    search.
    """

    daemon_threads = True

    def __init__(self, file: Path, port: int = 0) -> None:
        plotly_script()  # fail now, and not in a browser, if it or the file is missing
        self._pages: TrialPages | AnswerPages
        self._pages = AnswerPages(file) if is_generation(file) else TrialPages(file)
        self._lock = threading.Lock()
        try:
            super().__init__(("127.0.0.1", port), _Handler)
        except OSError as error:
            raise OSError(f"cannot listen on port {port}: {error.strerror}") from error

    @property
    def url(self) -> str:
        """The address of the page."""
        return f"http://127.0.0.1:{self.server_address[1]}/"

    def whole_page(self) -> str:
        """Return the page as it is now."""
        with self._lock:
            return self._pages.page()

    def changes(self, version: str, settled: int) -> dict[str, Any] | None:
        """Return what has changed since a version, None if nothing has.

        The client already has the first `settled` trials, which will not change.
        """
        with self._lock:
            return self._pages.changes(version, settled)

    def server_close(self) -> None:
        """Close the socket and the file."""
        super().server_close()
        self._pages.close()


class TrialPages:
    """The page of a study of a tree or a space, and its changes."""

    def __init__(self, file: Path) -> None:
        self.follower = Follower(file)
        self.follower.refresh()

    def page(self) -> str:
        """Return the page as it is now."""
        study, _ = self.follower.refresh()
        return page(study, follow=True)

    def changes(self, version: str, settled: int) -> dict[str, Any] | None:
        """Return the snapshot and the trials that have changed since a version."""
        study, number = self.follower.refresh()
        reloads = str(self.follower.reloads)
        now = f"{reloads}.{number}"
        if version == now:
            return None
        known = version.startswith(f"{reloads}.") and settled <= len(study.trials)
        trials = trial_columns(study, settled if known else 0)
        return {"version": now, "snapshot": snapshot(study), "trials": trials}

    def close(self) -> None:
        """Close the file."""
        self.follower.close()


class AnswerPages:
    """The page of a study of generated answers, which is read again when its file has changed."""

    def __init__(self, file: Path) -> None:
        self.file = file
        result_of(file)  # fail now if it is damaged

    def page(self) -> str:
        """Return the page as it is now."""
        return generation.page(result_of(self.file), follow=True)

    def changes(self, version: str, settled: int) -> dict[str, Any] | None:
        """Return the snapshot, None if the file is that of the version."""
        now = str(signature_of(self.file))
        if version == now:
            return None
        return {"version": now, "snapshot": generation.snapshot(result_of(self.file))}

    def close(self) -> None:
        """Do nothing: the file is open only while it is read."""


class _Handler(BaseHTTPRequestHandler):
    server: Watch

    def do_GET(self) -> None:
        host = self.headers.get("Host", "")
        if host.rsplit(":", 1)[0] not in ("127.0.0.1", "localhost"):
            # Another site may have pointed a name of its own to this address (DNS rebinding).
            self.send_error(403, "this page is for this machine only")
            return
        url = urlsplit(self.path)
        try:
            if url.path == "/":
                self._send(200, "text/html; charset=utf-8", self.server.whole_page())
            elif url.path == "/snapshot":
                query = parse_qs(url.query)
                settled = query.get("settled", ["0"])[0]
                number = int(settled) if re.fullmatch("[0-9]{1,12}", settled) else 0
                changes = self.server.changes(query.get("version", [""])[0], number)
                text = "" if changes is None else json.dumps(changes, allow_nan=False)
                self._send(204 if changes is None else 200, "application/json", text)
            else:
                self.send_error(404)
        except ConnectionError:
            self.close_connection = True  # the browser has closed the page
        except (OSError, StudyError) as error:
            self.send_error(503, explain=str(error))
        except Exception as error:  # a bug: the page shows it, and keeps asking
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

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name in the base class
        """Print nothing: the terminal belongs to the user."""
