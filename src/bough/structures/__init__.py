"""Structures: permutations, subsets, strings, derivations of a grammar and walks, as paths.

A structure says how many children each node has, and what a path stands for. Every node leads to a
complete path, and different complete paths are different objects (of a grammar: derivations).
"""

from bough.structures.grammar import Grammar
from bough.structures.graph import Graph
from bough.structures.items import Permutations, Strings, Subsets
from bough.structures.structure import Structure

#: Every kind of structure: what a study file may name.
STRUCTURES: dict[str, type[Structure]] = {
    structure.kind: structure for structure in (Permutations, Subsets, Strings, Grammar, Graph)
}

__all__ = ["STRUCTURES", "Grammar", "Graph", "Permutations", "Strings", "Structure", "Subsets"]
