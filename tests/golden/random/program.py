#!/usr/bin/env python3
"""program.py SEED COUNT: random C programs of so many seeds in one file, to be compiled and walked
through, never run. Those of seed N are called pN_...: they know nothing of each other.

Functions call each other directly, through pointers, as tail calls and recursively; some are always
inlined, some never, some static; their bodies are loops, conditions and switches over globals.
"""
import random
import sys


class Program:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.prefix = f"p{seed}_"
        self.count = self.random.randint(3, 10)
        self.budget = 0  # statements left to the function being written
        self.kinds = [self.random.choice(["static inline __attribute__((always_inline))", "static",
                                          "__attribute__((noinline))", "__attribute__((noinline))",
                                          "static __attribute__((noinline))"])
                      for _ in range(self.count)]
        self.lines = []

    def line(self, depth, text):
        self.lines.append("    " * depth + text)

    def inlined(self, function):
        return "always_inline" in self.kinds[function]

    def callee(self, caller):
        """Later functions; any at all where recursion is possible (not through forced inlining)."""
        later = list(range(caller + 1, self.count))
        if self.random.random() < 0.15 or not later:
            later = [f for f in range(self.count) if not self.inlined(f)] if \
                not self.inlined(caller) else []
        return self.random.choice(later) if later else None

    def name(self, function):
        return f"{self.prefix}f{function}"

    def call(self, caller, tail=False):
        callee = self.callee(caller)
        if tail and callee is not None and callee <= caller:
            callee = None  # no circles of tail calls
        argument = self.random.choice(["x", "sum", "x + 1", "sum ^ x", str(self.random.randint(0, 9))])
        if callee is None or self.random.random() < 0.12:
            return f"{self.prefix}pointers[sum & 7]({argument})"
        return f"{self.name(callee)}({argument})"

    def condition(self):
        number = self.random.randint(0, 40)
        return self.random.choice([f"sum & {1 << self.random.randint(0, 7)}", f"x > {number}",
                                   f"{self.prefix}globals[{number & 15}] == sum", f"x % {number + 2} == 1"])

    def statement(self, function, depth):
        choice = self.random.random()
        self.budget -= 1
        if depth > 4 or self.budget < 0 or choice < 0.30:
            index = self.random.randint(0, 15)
            place = f"{self.prefix}globals[{index}]"
            self.line(depth, self.random.choice([f"{place} += sum;", "sum = sum * 31 + x;",
                                                 f"sum ^= {place};"]))
        elif choice < 0.62:
            self.line(depth, f"sum += {self.call(function)};")
        elif choice < 0.80:
            self.line(depth, f"if ({self.condition()}) {{")
            self.body(function, depth + 1)
            if self.random.random() < 0.5:
                self.line(depth, "} else {")
                self.body(function, depth + 1)
            self.line(depth, "}")
        elif choice < 0.92:
            variable = "abcdefgh"[depth]
            limit = self.random.choice(["x", "x & 15", str(self.random.randint(2, 12))])
            self.line(depth, f"for (unsigned {variable} = 0; {variable} < ({limit}); {variable}++) {{")
            self.body(function, depth + 1)
            self.line(depth, "}")
        else:
            self.line(depth, f"switch (sum % {self.random.randint(4, 9)}) {{")
            for case in range(self.random.randint(2, 6)):
                self.line(depth, f"case {case}:")
                self.statement(function, depth + 1)
                if self.random.random() < 0.8:
                    self.line(depth + 1, "break;")
            self.line(depth, "default:")
            self.line(depth + 1, "sum++;")
            self.line(depth, "}")

    def body(self, function, depth):
        for _ in range(self.random.randint(1, 3)):
            self.statement(function, depth)

    def write(self):
        self.line(0, f"extern unsigned {self.prefix}globals[16];")
        self.line(0, f"extern unsigned (*{self.prefix}pointers[8])(unsigned);")
        for function in range(self.count):
            self.line(0, f"{self.kinds[function]} unsigned {self.name(function)}(unsigned x);")
        for function in range(self.count):
            self.line(0, "")
            self.line(0, f"{self.kinds[function]} unsigned {self.name(function)}(unsigned x)")
            self.line(0, "{")
            self.line(1, f"unsigned sum = x + {function};")
            self.budget = self.random.randint(2, 14)
            for _ in range(self.random.randint(1, 4)):
                self.statement(function, 1)
            tail = self.random.random() < 0.3
            self.line(1, f"return {self.call(function, True)};" if tail else "return sum;")
            self.line(0, "}")
        takeable = [f for f in range(self.count) if not self.inlined(f)] or [0]
        pointers = ", ".join(self.name(self.random.choice(takeable)) for _ in range(8))
        self.line(0, "")
        self.line(0, f"unsigned {self.prefix}globals[16];")
        self.line(0, f"unsigned (*{self.prefix}pointers[8])(unsigned) = {{{pointers}}};")
        self.line(0, "")
        self.line(0, f"void {self.prefix}main(void)")
        self.line(0, "{")
        self.line(1, "for (unsigned i = 0;; i++) {")
        for _ in range(3):
            callee = self.name(self.random.randrange(self.count))
            self.line(2, f"{self.prefix}globals[i & 15] += {callee}(i);")
        self.line(1, "}")
        self.line(0, "}")
        return "\n".join(self.lines) + "\n"


first, count = map(int, sys.argv[1:3])
for each in range(first, first + count):
    sys.stdout.write(Program(each).write() + "\n")
