import subprocess
import sys

SCRIPT = """
from bough import games
{position}
print("begun")
player = games.RandomPlayer()
found = games.match(player, player, {name}, games=6, workers=2, progress=False)
print(len(found.games), "games")
"""


def run(tmp_path, position, name):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT.format(position=position, name=name))
    return subprocess.run([sys.executable, script], capture_output=True, text=True)


def test_a_script_without_a_guard_runs_once(tmp_path):
    done = run(tmp_path, "", "games.TicTacToe()")
    assert done.stdout == "begun\n6 games\n"
    assert done.stderr == ""


def test_a_script_whose_classes_are_needed_wants_a_guard(tmp_path):
    done = run(tmp_path, "class Mine(games.TicTacToe): pass", "Mine()")
    assert done.returncode == 1
    assert '`if __name__ == "__main__":`' in done.stderr.splitlines()[-1]
