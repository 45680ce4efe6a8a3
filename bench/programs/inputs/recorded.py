"""Objects, generators, dictionaries, sorting, strings, JSON, exceptions, big numbers and a small
interpreter: `python recorded.py [TIMES]`. Hashes of strings have the seed of PYTHONHASHSEED."""
import heapq
import json
import struct
import sys


def fibonacci(n):
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)


def queens(size):
    def place(row, columns, sums, differences):
        if row == size:
            return 1
        found = 0
        for column in range(size):
            if column in columns or row + column in sums or row - column in differences:
                continue
            found += place(row + 1, columns | {column}, sums | {row + column}, differences | {row - column})
        return found

    return place(0, frozenset(), frozenset(), frozenset())


class Account:
    def __init__(self, owner):
        self.owner, self.balance, self.log = owner, 0, []

    def deposit(self, amount):
        if amount <= 0:
            raise ValueError(f"{self.owner} cannot deposit {amount}")
        self.balance += amount
        self.log.append(("deposit", amount))


def accounts(count):
    people = [Account(f"person {i}") for i in range(50)]
    refused = 0
    for i in range(count):
        try:
            people[i % len(people)].deposit(i * 7 % 23 - 2)
        except ValueError:
            refused += 1
    return refused, sum(person.balance for person in people)


def primes():
    composites = {}
    number = 2
    while True:
        if number not in composites:
            yield number
            composites[number * number] = [number]
        else:
            for factor in composites.pop(number):
                composites.setdefault(number + factor, []).append(factor)
        number += 1


def shortest_paths(size):
    edges = {i: [((i * 7 + 1) % size, i % 11 + 1), ((i * 3 + 2) % size, i % 5 + 1), ((i + 1) % size, 9)]
             for i in range(size)}
    distances, queue = {0: 0}, [(0, 0)]
    while queue:
        distance, node = heapq.heappop(queue)
        if distance > distances[node]:
            continue
        for target, length in edges[node]:
            if distance + length < distances.get(target, 1 << 30):
                distances[target] = distance + length
                heapq.heappush(queue, (distance + length, target))
    return sum(distances.values())


def words(count):
    text = " ".join(f"{'the quick brown fox jumps over lazy dogs'.split()[i % 8]}{i % 37}" for i in range(count))
    counts = {}
    for word in text.replace("o", "0").upper().split():
        counts[word] = counts.get(word, 0) + 1
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:5]


def documents(count):
    things = [{"id": i, "name": f"thing {i}", "tags": ["a", "b", str(i % 9)], "size": i / 7, "next": None}
              for i in range(count)]
    back = json.loads(json.dumps(things, sort_keys=True))
    packed = b"".join(struct.pack("<IdB", thing["id"], thing["size"], len(thing["tags"])) for thing in back)
    return len(packed), sum(number for number, *_ in struct.iter_unpack("<IdB", packed))


def calculate(source):
    """A calculator: tokens, then recursive descent."""
    tokens, position = source.replace("(", " ( ").replace(")", " ) ").split(), 0

    def take():
        nonlocal position
        position += 1
        return tokens[position - 1]

    def peek():
        return tokens[position] if position < len(tokens) else None

    def atom():
        token = take()
        if token != "(":
            return int(token)
        value = total()
        take()
        return value

    def product():
        value = atom()
        while peek() in ("*", "%"):
            value = value * atom() if take() == "*" else value % atom()
        return value

    def total():
        value = product()
        while peek() in ("+", "-"):
            value = value + product() if take() == "+" else value - product()
        return value

    return total()


def main(times):
    for _ in range(times):
        print(fibonacci(16), queens(6), accounts(3000), shortest_paths(400))
        generator = primes()
        print([next(generator) for _ in range(400)][-1], words(1500), documents(120))
        print(sum(calculate(f"( {i} + 3 ) * ( 7 - {i} % 5 ) - {i} * 2") for i in range(150)))
        print(3 ** 2000 % 10 ** 9, sum(pow(7, i, 10 ** 12 + 39) for i in range(300)))
        print(sorted((i * 7919 % 1009 for i in range(2000)), key=lambda i: (i % 10, -i))[:5])


main(int(sys.argv[1]) if len(sys.argv) > 1 else 1)
