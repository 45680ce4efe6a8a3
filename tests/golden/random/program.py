#!/usr/bin/env python3
"""program.py SEED: a random C program, to be compiled and walked through, never run.

Functions call each other directly, through pointers, as tail calls and recursively; some are always
inlined, some never, some static; their bodies are loops, conditions and switches over globals.
"""
import random
import sys


class Program:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.count = self.random.randint(6, 22)
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

    def call(self, caller):
        callee = self.callee(caller)
        argument = self.random.choice(["x", "sum", "x + 1", "sum ^ x", str(self.random.randint(0, 9))])
        if callee is None or self.random.random() < 0.12:
            return f"pointers[sum & 7]({argument})"
        return f"f{callee}({argument})"

    def condition(self):
        number = self.random.randint(0, 40)
        return self.random.choice([f"sum & {1 << self.random.randint(0, 7)}", f"x > {number}",
                                   f"globals[{number & 15}] == sum", f"x % {number + 2} == 1"])

    def statement(self, function, depth):
        choice = self.random.random()
        if depth > 4 or choice < 0.30:
            index = self.random.randint(0, 15)
            self.line(depth, self.random.choice([f"globals[{index}] += sum;", "sum = sum * 31 + x;",
                                                 f"sum ^= globals[{index}];"]))
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
        self.line(0, "extern unsigned globals[16];")
        self.line(0, "extern unsigned (*pointers[8])(unsigned);")
        for function in range(self.count):
            self.line(0, f"{self.kinds[function]} unsigned f{function}(unsigned x);")
        for function in range(self.count):
            self.line(0, "")
            self.line(0, f"{self.kinds[function]} unsigned f{function}(unsigned x)")
            self.line(0, "{")
            self.line(1, f"unsigned sum = x + {function};")
            for _ in range(self.random.randint(1, 4)):
                self.statement(function, 1)
            tail = self.random.random() < 0.3
            self.line(1, f"return {self.call(function)};" if tail else "return sum;")
            self.line(0, "}")
        takeable = [f for f in range(self.count) if not self.inlined(f)] or [0]
        pointers = ", ".join(f"f{self.random.choice(takeable)}" for _ in range(8))
        self.line(0, "")
        self.line(0, "unsigned globals[16];")
        self.line(0, f"unsigned (*pointers[8])(unsigned) = {{{pointers}}};")
        self.line(0, "")
        self.line(0, "void _start(void)")
        self.line(0, "{")
        self.line(1, "for (unsigned i = 0;; i++) {")
        for _ in range(3):
            self.line(2, f"globals[i & 15] += f{self.random.randrange(self.count)}(i);")
        self.line(1, "}")
        self.line(0, "}")
        return "\n".join(self.lines) + "\n"


sys.stdout.write(Program(int(sys.argv[1])).write())
