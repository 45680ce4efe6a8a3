// C++ names and shapes: templates, lambdas, virtual calls, namespaces, static members.
#include "start.h"

namespace geometry
{
struct shape {
    virtual unsigned area() const = 0;
    virtual unsigned grow(unsigned by);
    unsigned size = 1;
};

NOINLINE unsigned shape::grow(unsigned by)
{
    size = (size + by) & 63;
    return area();
}

struct square : shape {
    unsigned area() const override
    {
        return size * size;
    }
};

struct frame : square {
    unsigned area() const override
    {
        unsigned inner = size > 2 ? (size - 2) * (size - 2) : 0;
        return square::area() - inner;
    }
};

struct triangle final : shape {
    unsigned area() const override
    {
        unsigned sum = 0;
        for (unsigned i = 0; i < size; i++)
            sum += i;
        return sum;
    }
};
} // namespace geometry

template <typename Item, unsigned Room> struct ring {
    Item items[Room];
    unsigned next = 0;

    NOINLINE void push(Item item)
    {
        items[next++ % Room] = item;
    }

    template <typename Function> NOINLINE unsigned each(Function function) const
    {
        unsigned sum = 0;
        for (unsigned i = 0; i < Room; i++)
            sum += function(items[i]);
        return sum;
    }
};

namespace
{
ring<unsigned, 16> numbers;
ring<unsigned char, 8> bytes;

template <typename Number> NOINLINE Number greatest_divisor(Number a, Number b)
{
    while (b) {
        Number rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}
} // namespace

static NOINLINE unsigned measure(geometry::shape *const *shapes, unsigned count, unsigned by)
{
    unsigned sum = 0;
    for (unsigned i = 0; i < count; i++)
        sum += shapes[i]->grow(by + i);
    return sum;
}

// Without a C++ library: what a call of a pure virtual function would reach.
extern "C" void __cxa_pure_virtual()
{
    __builtin_trap();
}

unsigned run(void)
{
    geometry::square square;
    geometry::frame frame;
    geometry::triangle triangle;
    geometry::shape *shapes[] = {&square, &frame, &triangle, &square};
    unsigned sum = 0, state = 3;
    for (unsigned i = 0; i < 700; i++) {
        unsigned number = next_random(&state);
        numbers.push(number);
        bytes.push(static_cast<unsigned char>(number));
        sum += measure(shapes, 4, i);
        sum += numbers.each([](unsigned item) { return item & 1 ? item : 0; });
        sum += bytes.each([sum](unsigned char item) { return item > (sum & 127) ? 1u : 2u; });
        sum += greatest_divisor<unsigned>(number, 360);
        sum += static_cast<unsigned>(greatest_divisor<unsigned long>(number * 7ul, 1001));
    }
    return sum;
}
