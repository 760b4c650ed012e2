"""Have a language model write a function that passes tests: draft, read the failures, refine.

`complete` stands where the call of a model goes: replace it by that of your service. Here it is a
local function that guesses, so that this runs anywhere.
"""

import random
from concurrent.futures import ThreadPoolExecutor

import bough

TESTS = [("racecar", True), ("abc", False), ("", True), ("ab", False), ("Abba", True)]
PIECES = ["text", "text.lower()", "text.strip()", "text[::-1]", "text.lower()[::-1]", "''"]


def complete(prompt):
    """Return the answer of a model to a prompt.  <-- PUT THE CALL OF YOUR MODEL HERE.

    Such as, with the client of your service:

        reply = client.messages.create(model=..., messages=[{"role": "user", "content": prompt}])
        return reply.content[0].text
    """
    left, right = random.choices(PIECES, k=2)
    if "def is_palindrome" in prompt:  # a refinement: keep one side of the comparison
        old = prompt.split("return ")[1].split("\n")[0]
        left, right = random.choice([(old.split(" == ")[0], right), (left, old.split(" == ")[1])])
    return f"def is_palindrome(text):\n    return {left} == {right}\n"


def score(code):
    """Return the share of passing tests, and a log of the failing ones."""
    names = {}
    exec(code, names)  # (in production: in a sandbox)
    failures = []
    for text, wanted in TESTS:
        found = names["is_palindrome"](text)
        if found != wanted:
            failures.append(f"is_palindrome({text!r}) is {found}, and should be {wanted}")
    return 1 - len(failures) / len(TESTS), "\n".join(failures)


def draft_or_refine(parent):
    """Ask for a new function, or for a better one than the parent."""
    prompt = "Write a Python function is_palindrome(text) that ignores case."
    if parent is not None:
        prompt += f"\nThis attempt fails:\n{parent.answer}\n{parent.feedback}\nMend it."
    code = complete(prompt)
    passed, log = score(code)
    cost = (len(prompt) + len(code)) / 4000  # thousands of tokens, about
    return bough.Answer(code, passed, std=0.0, feedback=log, cost=cost)


if __name__ == "__main__":
    random.seed(0)
    with ThreadPoolExecutor(4) as pool:
        result = bough.generate(
            draft_or_refine,
            budget=200,
            executor=pool,
            stop=bough.Target(1.0),
            catch=Exception,  # a failed call is recorded, and the search continues
            study="palindrome.db",
        )
    print(result)
    print(result.best.answer)
