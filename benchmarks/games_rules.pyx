# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Compiled rules of games, with OpenSpiel's numbers of moves, for matches of many games.

`Board` has what `bough.games.Position` asks for. Random games are compared with OpenSpiel's in
`tests/test_games_benchmark.py`.
"""

import numpy

from libc.stdint cimport uint64_t
from libc.string cimport memset

cdef extern from *:
    int __builtin_ctzll(uint64_t) noexcept
    int __builtin_popcountll(uint64_t) noexcept

cdef enum:
    CELLS = 128
    MOVES = 512  # in a game, and in a position

cdef struct State:
    int player
    int winner  # NONE, 0, 1 or DRAW
    int count  # of the moves played
    int size
    int stones[2]
    uint64_t discs[2]  # of Othello, one bit for each cell
    signed char cells[CELLS]  # EMPTY, 0 or 1
    short parent[CELLS]  # of a cell in the forest of connected cells
    unsigned char edges[CELLS]  # that a connected group touches, as bits
    short played[MOVES]

cdef enum:
    EMPTY = -1
    NONE = -1
    DRAW = 2

cdef int* ROWS = [-1, -1, -1, 0, 0, 1, 1, 1]
cdef int* COLUMNS = [-1, 0, 1, -1, 1, -1, 0, 1]


cdef class Board:
    """A position of a game; subclasses have the rules."""

    cdef State s
    game = ""  #: OpenSpiel's name

    def __init__(self):
        memset(&self.s, 0, sizeof(State))
        memset(self.s.cells, EMPTY, sizeof(self.s.cells))
        self.s.winner = NONE
        self.begin()

    cdef void begin(self) noexcept:
        pass

    cdef int legal(self, short* moves) noexcept:
        return 0

    cdef void make(self, int move) noexcept:
        pass

    @property
    def player(self):
        return self.s.player

    def moves(self):
        cdef short found[MOVES]
        cdef int count = self.legal(found)
        return [found[i] for i in range(count)]

    def play(self, int move):
        self.s.played[self.s.count] = move
        self.s.count += 1
        self.make(move)

    def result(self):
        if self.s.winner == NONE:
            return None
        return 0.0 if self.s.winner == DRAW else 1.0 - 2.0 * self.s.winner

    def copy(self):
        cdef Board new = type(self).__new__(type(self))
        new.s = self.s
        return new

    def playout(self, below):
        cdef short found[MOVES]
        cdef int move
        played = []
        while self.s.winner == NONE:
            move = found[<int>below(self.legal(found))]
            played.append((self.s.player, move))
            self.make(move)
        return played

    def history(self):
        return [self.s.played[i] for i in range(self.s.count)]

    def key(self):
        return (<char*>self.s.cells)[:CELLS], self.s.discs[0], self.s.discs[1], self.s.player

    @property
    def state(self):
        """The same position in OpenSpiel."""
        import pyspiel

        state = pyspiel.load_game(self.game).new_initial_state()
        for move in self.history():
            state.apply_action(move)
        return state

    def features(self):
        """The cells of the first player, then those of the second."""
        cells = numpy.frombuffer((<char*>self.s.cells)[:self.s.size * self.s.size], numpy.int8)
        return numpy.concatenate([cells == 0, cells == 1]).astype(numpy.float64)

    def __str__(self):
        return str(self.state)

    def __reduce__(self):
        from benchmarks.games_positions import start

        return start, (self.game, self.history())

    cdef int empty_cells(self, short* moves) noexcept:
        cdef int cell, count = 0
        for cell in range(self.s.size * self.s.size):
            if self.s.cells[cell] == EMPTY:
                moves[count] = cell
                count += 1
        return count

    cdef int root(self, int cell) noexcept:
        while self.s.parent[cell] != cell:
            self.s.parent[cell] = self.s.parent[self.s.parent[cell]]
            cell = self.s.parent[cell]
        return cell

    cdef int connect(self, int cell, int edges) noexcept:
        """Place a stone on a board of hexagons, and return the edges of its group."""
        cdef int size = self.s.size, row = cell // size, column = cell % size
        cdef int i, other, top
        self.s.cells[cell] = self.s.player
        self.s.parent[cell] = cell
        for i in range(1, 7):  # all but the two corners on the main diagonal
            if 0 <= row + ROWS[i] < size and 0 <= column + COLUMNS[i] < size:
                other = cell + ROWS[i] * size + COLUMNS[i]
                if self.s.cells[other] == self.s.player:
                    top = self.root(other)
                    edges |= self.s.edges[top]
                    self.s.parent[top] = cell
        self.s.edges[cell] = edges
        return edges


cdef class ConnectFour(Board):
    """Connect Four on 6 rows of 7 columns."""

    game = "connect_four"

    cdef void begin(self) noexcept:
        self.s.size = 7  # of which it uses six rows

    cdef int legal(self, short* moves) noexcept:
        cdef int column, count = 0
        for column in range(7):
            if self.s.cells[35 + column] == EMPTY:
                moves[count] = column
                count += 1
        return count

    cdef void make(self, int move) noexcept:
        cdef int row = 0, i, j, r, c, line, player = self.s.player
        while self.s.cells[7 * row + move] != EMPTY:
            row += 1
        self.s.cells[7 * row + move] = player
        self.s.stones[0] += 1
        self.s.player = 1 - player
        for i in range(4):  # directions up to sign
            line = 1
            for j in range(2):
                r = row
                c = move
                while True:
                    r += ROWS[i] if j else -ROWS[i]
                    c += COLUMNS[i] if j else -COLUMNS[i]
                    if not (0 <= r < 6 and 0 <= c < 7) or self.s.cells[7 * r + c] != player:
                        break
                    line += 1
            if line >= 4:
                self.s.winner = player
                return
        if self.s.stones[0] == 42:
            self.s.winner = DRAW


cdef class Hex(Board):
    """Hex on 7 rows of 7 cells."""

    game = "hex(board_size=7)"

    cdef void begin(self) noexcept:
        self.s.size = 7

    cdef int legal(self, short* moves) noexcept:
        return self.empty_cells(moves)

    cdef void make(self, int move) noexcept:
        cdef int size = self.s.size
        cdef int line = move % size if self.s.player else move // size
        if self.connect(move, (line == 0) + 2 * (line == size - 1)) == 3:
            self.s.winner = self.s.player
        self.s.player = 1 - self.s.player


cdef class SmallHex(Hex):
    """Hex on 4 rows of 4 cells."""

    game = "hex(board_size=4)"

    cdef void begin(self) noexcept:
        self.s.size = 4


cdef class Y(Board):
    """The game of Y on a triangle of 8 rows."""

    game = "y(board_size=8)"

    cdef void begin(self) noexcept:
        self.s.size = 8

    cdef int legal(self, short* moves) noexcept:
        cdef int row, column, count = 0
        for row in range(self.s.size):
            for column in range(self.s.size - row):
                if self.s.cells[row * self.s.size + column] == EMPTY:
                    moves[count] = row * self.s.size + column
                    count += 1
        return count

    cdef void make(self, int move) noexcept:
        cdef int size = self.s.size, row = move // size, column = move % size
        cdef int edges = (row == 0) + 2 * (column == 0) + 4 * (row + column == size - 1)
        if self.connect(move, edges) == 7:
            self.s.winner = self.s.player
        self.s.player = 1 - self.s.player


cdef class SmallY(Y):
    """The game of Y on a triangle of 5 rows."""

    game = "y(board_size=5)"

    cdef void begin(self) noexcept:
        self.s.size = 5


cdef class Breakthrough(Board):
    """Breakthrough on 6 rows of 6 columns."""

    game = "breakthrough(rows=6,columns=6)"

    cdef void begin(self) noexcept:
        cdef int cell
        for cell in range(12):
            self.s.cells[cell] = 0
            self.s.cells[35 - cell] = 1
        self.s.stones[0] = self.s.stones[1] = 12

    cdef int legal(self, short* moves) noexcept:
        cdef int cell, row, column, side, target, count = 0, player = self.s.player
        for cell in range(36):
            if self.s.cells[cell] != player:
                continue
            row = cell // 6 + (-1 if player else 1)
            for side in range(3):
                column = cell % 6 + side - 1
                if not (0 <= row < 6 and 0 <= column < 6):
                    continue
                target = self.s.cells[6 * row + column]
                if target == EMPTY or (target != player and side != 1):
                    moves[count] = 12 * cell + 2 * (side + 3 * player) + (target != EMPTY)
                    count += 1
        return count

    cdef void make(self, int move) noexcept:
        cdef int cell = move // 12, player = self.s.player
        cdef int row = cell // 6 + (-1 if player else 1)
        cdef int target = 6 * row + cell % 6 + (move // 2) % 3 - 1
        if move % 2:
            self.s.stones[1 - player] -= 1
        self.s.cells[target] = player
        self.s.cells[cell] = EMPTY
        if row == (0 if player else 5) or self.s.stones[1 - player] == 0:
            self.s.winner = player
        self.s.player = 1 - player


cdef uint64_t shifted(uint64_t stones, int i) noexcept:
    """Return stones moved one step in a direction, without those that leave the board."""
    if COLUMNS[i] > 0:
        stones &= 0x7F7F7F7F7F7F7F7FULL
    elif COLUMNS[i] < 0:
        stones &= 0xFEFEFEFEFEFEFEFEULL
    cdef int shift = 8 * ROWS[i] + COLUMNS[i]
    return stones << shift if shift > 0 else stones >> -shift


cdef class Othello(Board):
    """Othello; move 64 passes."""

    game = "othello"

    cdef void begin(self) noexcept:
        self.s.discs[0] = 1ULL << 28 | 1ULL << 35
        self.s.discs[1] = 1ULL << 27 | 1ULL << 36

    cdef uint64_t targets(self, int player) noexcept:
        """Return the cells where a player may place a disc."""
        cdef uint64_t own = self.s.discs[player], other = self.s.discs[1 - player], line, found = 0
        cdef int i, j
        for i in range(8):
            line = shifted(own, i) & other
            for j in range(5):
                line |= shifted(line, i) & other
            found |= shifted(line, i)
        return found & ~(own | other)

    cdef int legal(self, short* moves) noexcept:
        cdef uint64_t cells = self.targets(self.s.player)
        cdef int count = 0
        if cells == 0:
            moves[0] = 64
            return 1
        while cells:
            moves[count] = __builtin_ctzll(cells)
            count += 1
            cells &= cells - 1
        return count

    cdef void make(self, int move) noexcept:
        cdef int i, j, player = self.s.player, black, white
        cdef uint64_t own = self.s.discs[player], other = self.s.discs[1 - player]
        cdef uint64_t disc, line, turned = 0
        if move != 64:
            disc = 1ULL << move
            for i in range(8):
                line = shifted(disc, i) & other
                for j in range(5):
                    line |= shifted(line, i) & other
                if shifted(line, i) & own:
                    turned |= line
            self.s.discs[player] = own | turned | disc
            self.s.discs[1 - player] = other & ~turned
        self.s.player = 1 - player
        if self.targets(1 - player) == 0 and self.targets(player) == 0:
            black = __builtin_popcountll(self.s.discs[0])
            white = __builtin_popcountll(self.s.discs[1])
            self.s.winner = 0 if black > white else 1 if white > black else DRAW


cdef class Clobber(Board):
    """Clobber on 5 rows of 6 columns."""

    game = "clobber"

    cdef void begin(self) noexcept:
        cdef int cell
        for cell in range(30):
            self.s.cells[cell] = (cell // 6 + cell % 6) % 2

    cdef int count_captures(self, int player, short* moves) noexcept:
        """Find the moves by which stones of a player take neighbors of the other."""
        cdef int cell, i, row, column, count = 0
        for cell in range(30):
            if self.s.cells[cell] != player:
                continue
            for i in range(4):  # up, right, down, left
                row = cell // 6 + (i == 2) - (i == 0)
                column = cell % 6 + (i == 1) - (i == 3)
                if 0 <= row < 5 and 0 <= column < 6:
                    if self.s.cells[6 * row + column] == 1 - player:
                        moves[count] = 4 * cell + i
                        count += 1
        return count

    cdef int legal(self, short* moves) noexcept:
        return self.count_captures(self.s.player, moves)

    cdef void make(self, int move) noexcept:
        cdef short found[MOVES]
        cdef int cell = move // 4, i = move % 4, player = self.s.player
        self.s.cells[cell] = EMPTY
        self.s.cells[cell + 6 * ((i == 2) - (i == 0)) + (i == 1) - (i == 3)] = player
        self.s.player = 1 - player
        if self.count_captures(1 - player, found) == 0:  # then the other has none, too
            self.s.winner = player


cdef enum:
    MOST_SIZE = 9
    MOST_TURNS = 2 * MOST_SIZE * MOST_SIZE + 1

#: The neighbors of each cell by the size of the board; the last number ends them.
cdef short NEAR[MOST_SIZE + 1][CELLS][5]

for _size in range(1, MOST_SIZE + 1):
    for _cell in range(_size * _size):
        _row, _column = divmod(_cell, _size)
        _near = [
            row * _size + column
            for row, column in (
                (_row - 1, _column), (_row + 1, _column), (_row, _column - 1), (_row, _column + 1)
            )
            if 0 <= row < _size and 0 <= column < _size
        ]
        for _i, _other in enumerate([*_near, NONE]):
            NEAR[_size][_cell][_i] = _other

cdef struct Chains:
    int turns
    int passes  # in a row, until now
    int ko  # the cell that a rule against repetition forbids, NONE if there is none
    short next[CELLS]  # stone of the same chain, in a circle
    # Of chains, by the cell that `State.parent` has of their stones: pairs of a stone and an empty
    # neighbor; sums of these neighbors and of their squares, which show whether they are one cell.
    int liberties[CELLS]
    int sums[CELLS]
    int squares[CELLS]
    uint64_t board  # a hash of the stones
    uint64_t seen[MOST_TURNS]  # those of all boards so far


cdef uint64_t hash_of(int cell, int player) noexcept:
    """Return random bits of a stone (SplitMix64)."""
    cdef uint64_t z = <uint64_t>(2 * cell + player + 1) * 0x9E3779B97F4A7C15ULL
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL
    return z ^ (z >> 31)


cdef class Go(Board):
    """Go as OpenSpiel plays it on 7 x 7 points: area scoring, komi 7.5, a repetition is a draw."""

    cdef Chains c
    game = "go(board_size=7)"

    cdef void begin(self) noexcept:
        self.start(7)

    cdef void start(self, int size) noexcept:
        memset(&self.c, 0, sizeof(Chains))
        self.s.size = size
        self.c.ko = NONE

    def copy(self):
        cdef Go new = Board.copy(self)
        new.c = self.c
        return new

    cdef bint in_atari(self, int stone) noexcept:
        cdef int chain = self.s.parent[stone]
        return self.c.liberties[chain] * self.c.squares[chain] == self.c.sums[chain] ** 2

    cdef int legal(self, short* moves) noexcept:
        cdef int cell, other, count = 0, player = self.s.player, size = self.s.size
        cdef short* near
        for cell in range(size * size):
            if self.s.cells[cell] != EMPTY or cell == self.c.ko:
                continue
            near = NEAR[size][cell]
            while near[0] != NONE:
                other = self.s.cells[near[0]]
                if other == EMPTY or self.in_atari(near[0]) != (other == player):
                    moves[count] = cell
                    count += 1
                    break
                near += 1
        moves[count] = size * size
        return count + 1

    cdef void add_liberty(self, int stone, int cell, int times) noexcept:
        cdef int chain = self.s.parent[stone]
        self.c.liberties[chain] += times
        self.c.sums[chain] += times * cell
        self.c.squares[chain] += times * cell * cell

    cdef void join(self, int cell, int other) noexcept:
        """Join the chain of a stone to that of another."""
        cdef int chain = self.s.parent[cell], old = self.s.parent[other], stone = other
        while True:
            self.s.parent[stone] = chain
            stone = self.c.next[stone]
            if stone == other:
                break
        self.c.next[cell], self.c.next[other] = self.c.next[other], self.c.next[cell]
        self.c.liberties[chain] += self.c.liberties[old]
        self.c.sums[chain] += self.c.sums[old]
        self.c.squares[chain] += self.c.squares[old]

    cdef int capture(self, int first) noexcept:
        """Remove a chain, and return the number of its stones."""
        cdef int stone = first, count = 0, player = self.s.cells[first]
        cdef short* near
        while True:
            self.s.cells[stone] = EMPTY
            self.c.board ^= hash_of(stone, player)
            count += 1
            stone = self.c.next[stone]
            if stone == first:
                break
        while True:
            near = NEAR[self.s.size][stone]
            while near[0] != NONE:
                if self.s.cells[near[0]] != EMPTY:
                    self.add_liberty(near[0], stone, 1)
                near += 1
            stone = self.c.next[stone]
            if stone == first:
                break
        return count

    cdef void place(self, int cell) noexcept:
        """Place a stone, and remove what it captures."""
        cdef int player = self.s.player, captured = 0, last = NONE
        cdef bint in_eye = True
        cdef short* near = NEAR[self.s.size][cell]
        self.s.cells[cell] = player
        self.c.board ^= hash_of(cell, player)
        self.s.parent[cell] = cell
        self.c.next[cell] = cell
        self.c.liberties[cell] = self.c.sums[cell] = self.c.squares[cell] = 0
        while near[0] != NONE:
            if self.s.cells[near[0]] == EMPTY:
                self.add_liberty(cell, near[0], 1)
            else:
                self.add_liberty(near[0], cell, -1)
            in_eye = in_eye and self.s.cells[near[0]] == 1 - player
            near += 1
        near = NEAR[self.s.size][cell]
        while near[0] != NONE:
            if self.s.cells[near[0]] == player:
                if self.s.parent[near[0]] != self.s.parent[cell]:
                    self.join(cell, near[0])
            elif self.s.cells[near[0]] == 1 - player:
                if self.c.liberties[self.s.parent[near[0]]] == 0:
                    captured += self.capture(near[0])
                    last = near[0]
            near += 1
        self.c.ko = last if in_eye and captured == 1 else NONE

    cdef void make(self, int move) noexcept:
        cdef int size = self.s.size, i
        self.c.turns += 1
        if move == size * size:
            self.c.passes += 1
            self.c.ko = NONE
        else:
            self.c.passes = 0
            self.place(move)
            for i in range(self.c.turns):
                if self.c.seen[i] == self.c.board:
                    self.s.winner = DRAW
        self.c.seen[self.c.turns] = self.c.board
        self.s.player = 1 - self.s.player
        if self.s.winner == NONE and (self.c.passes == 2 or self.c.turns == 2 * size * size):
            self.s.winner = 0 if self.area() > 7 else 1

    cdef int area(self) noexcept:
        """Return by how many stones and surrounded points the first player is ahead."""
        cdef int count = self.s.size * self.s.size, first, cell, left, found, reached, ahead = 0
        cdef short waiting[CELLS]
        cdef char known[CELLS]
        cdef short* near
        memset(known, 0, sizeof(known))
        for first in range(count):
            if self.s.cells[first] != EMPTY:
                ahead += 1 - 2 * self.s.cells[first]
                continue
            if known[first]:
                continue
            known[first] = True
            waiting[0] = first
            left = 1
            found = 0
            reached = 0  # players whose stones are next to these points, as bits
            while left:
                left -= 1
                cell = waiting[left]
                found += 1
                near = NEAR[self.s.size][cell]
                while near[0] != NONE:
                    if self.s.cells[near[0]] != EMPTY:
                        reached |= 1 << self.s.cells[near[0]]
                    elif not known[near[0]]:
                        known[near[0]] = True
                        waiting[left] = near[0]
                        left += 1
                    near += 1
            if reached == 1 or reached == 2:
                ahead += found if reached == 1 else -found
        return ahead


cdef class WideGo(Go):
    """Go on 9 x 9 points."""

    game = "go(board_size=9)"

    cdef void begin(self) noexcept:
        self.start(9)
