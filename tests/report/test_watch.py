"""The page of a running study, which is only read."""

import http.client
import json
import socket
import struct
import sys
import threading

import pytest

import bough
from bough.report.watch import Follower, Watch


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "run.db"
    bough.maximize(sum, bough.Tree(3, 4), budget=10, rng=0, study=path)
    return path


def resume(file, budget):
    bough.maximize(sum, bough.Tree(3, 4), budget=budget, study=file)


def test_a_follower_applies_only_new_operations(file):
    follower = Follower(file)
    study, number = follower.refresh()
    assert len(study.trials) == 10
    assert follower.refresh() == (study, number)
    resume(file, 25)
    study, later = follower.refresh()
    assert later > number
    assert follower.reloads == 1
    with bough.Study.open(file, read_only=True) as fresh:
        assert list(study.trials) == list(fresh.trials)
        assert study.best() == fresh.best()
        assert study.certificate == fresh.certificate
    follower.close()


def test_a_follower_sees_every_operation_of_the_writer(file):
    follower = Follower(file)
    with bough.Study.open(file) as study:
        for k in range(8):
            trial = study.ask()
            if k % 3 == 2:
                study.fail(trial, "no reason")
            elif k % 3 == 1:
                study.tell(trial, float(k), noise=0.5)
            seen, _ = follower.refresh()
            assert list(seen.trials) == list(study.trials)
        assert follower.reloads == 1
        assert seen.certificate == study.certificate
    follower.close()


def test_a_follower_of_a_replaced_file(file, tmp_path):
    follower = Follower(file)
    follower.refresh()
    other = tmp_path / "other.db"
    bough.maximize(sum, bough.Tree(3, 4), budget=3, rng=1, study=other)
    other.replace(file)
    study, _ = follower.refresh()
    assert len(study.trials) == 3
    assert follower.reloads == 2
    follower.close()


def test_a_follower_of_a_study_without_its_tree(tmp_path):
    file = tmp_path / "run.db"
    tree = bough.Tree(lambda path: 3, 4)
    bough.maximize(sum, tree, budget=5, rng=0, study=file)
    follower = Follower(file)
    study, _ = follower.refresh()
    assert not study.replayed
    bough.maximize(sum, tree, budget=9, study=file)
    study, _ = follower.refresh()
    assert study.trials.count("completed") == 9
    follower.close()


@pytest.fixture
def server(file):
    pytest.importorskip("plotly")
    with Watch(file) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def get(server, path, method="GET", host=None):
    connection = http.client.HTTPConnection("127.0.0.1", server.server_address[1])
    connection.request(method, path, headers={} if host is None else {"Host": host})
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    return answer.status, body


def test_the_server_is_local_and_only_reads(server, file):
    assert server.server_address[0] == "127.0.0.1"
    before = file.read_bytes()
    assert get(server, "/snapshot")[0] == 200
    assert get(server, "/other")[0] == 404
    assert get(server, "/snapshot", host="evil.example")[0] == 403
    assert get(server, "/snapshot", host=f"localhost:{server.server_address[1]}")[0] == 200
    for method in ("POST", "PUT", "DELETE"):
        assert get(server, "/snapshot", method)[0] == 501
    assert file.read_bytes() == before
    with bough.Study.open(file) as study:  # it is not locked
        study.ask()


def test_a_closed_connection_is_not_an_error(server, capfd):
    for _ in range(3):
        connection = socket.create_connection(server.server_address)
        connection.sendall(b"GET / HTTP/1.0\r\nHost: localhost\r\n\r\n")
        at_once = struct.pack("ii", 1, 0)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, at_once)
        connection.close()
    assert get(server, "/")[0] == 200
    assert get(server, f"/snapshot?settled={'9' * 5000}")[0] == 200
    assert capfd.readouterr().err == ""


def test_a_port_in_use(server, file):
    port = server.server_address[1]
    with pytest.raises(OSError, match=f"cannot listen on port {port}: Address already in use"):
        Watch(file, port)


def test_the_server_does_not_start_without_plotly(file, monkeypatch):
    monkeypatch.setitem(sys.modules, "plotly", None)
    with pytest.raises(ImportError, match=r"pip install 'bough\[report\]'"):
        Watch(file)


def test_a_bug_is_reported_to_the_page_only(server, monkeypatch, capfd):
    def fail(*_):
        raise ZeroDivisionError("by <none>")

    monkeypatch.setattr(server, "changes", fail)
    status, body = get(server, "/snapshot")
    assert status == 500
    assert b"by &lt;none&gt;" in body
    assert capfd.readouterr().err == ""


def test_changes_are_new_trials_and_a_snapshot(server, file):
    status, body = get(server, "/snapshot?version=&settled=0")
    first = json.loads(body)
    assert (status, len(first["trials"]["path"])) == (200, 10)
    unchanged = f"/snapshot?version={first['version']}&settled={first['trials']['settled']}"
    assert get(server, unchanged) == (204, b"")
    resume(file, 15)
    changes = json.loads(get(server, unchanged)[1])
    assert changes["trials"]["begin"] == 10
    assert len(changes["trials"]["path"]) == 5
    assert changes["snapshot"]["summary"]["trials"]["completed"] == 15
    whole = json.loads(get(server, "/snapshot?version=nonsense&settled=junk")[1])
    assert len(whole["trials"]["path"]) == 15


def test_a_missing_file_is_reported_to_the_page_only(server, file):
    file.rename(file.with_name("elsewhere.db"))
    assert get(server, "/snapshot")[0] == 503
    file.with_name("elsewhere.db").rename(file)
    assert get(server, "/snapshot")[0] == 200
