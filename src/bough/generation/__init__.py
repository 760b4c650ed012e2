"""Search with a random generator, such as a language model: draft, refine, restart."""

from bough.generation.answers import Answer, Job, Node
from bough.generation.imports import read_log, read_treequest, write_log
from bough.generation.result import AnswerTree, GenerationResult, result_of
from bough.generation.run import agenerate, generate
from bough.generation.search import GenerativeSearch
from bough.generation.study import GenerationStudy

__all__ = [
    "Answer",
    "AnswerTree",
    "GenerationResult",
    "GenerationStudy",
    "GenerativeSearch",
    "Job",
    "Node",
    "agenerate",
    "generate",
    "read_log",
    "read_treequest",
    "result_of",
    "write_log",
]
