-- What recorded.lua does not do: numerics, permutations, trees, matrices, a tokenizer with an
-- interpreter of its own, a cache with metamethods. `lua unseen.lua [TIMES]`
local times = tonumber(arg and arg[1]) or 1

local function bodies(steps)
    local list = {}
    for i = 1, 5 do list[i] = {x = i * 1.7, y = i % 3 - 1.1, z = i / 3, vx = 0, vy = 0.1 * i, vz = 0, mass = 1 / i} end
    for _ = 1, steps do
        for i, a in ipairs(list) do
            for j = i + 1, #list do
                local b = list[j]
                local dx, dy, dz = a.x - b.x, a.y - b.y, a.z - b.z
                local square = dx * dx + dy * dy + dz * dz + 0.01
                local pull = 0.001 / (square * square ^ 0.5)
                a.vx, a.vy, a.vz = a.vx - dx * b.mass * pull, a.vy - dy * b.mass * pull, a.vz - dz * b.mass * pull
                b.vx, b.vy, b.vz = b.vx + dx * a.mass * pull, b.vy + dy * a.mass * pull, b.vz + dz * a.mass * pull
            end
        end
        for _, a in ipairs(list) do
            a.x, a.y, a.z = a.x + a.vx * 0.001, a.y + a.vy * 0.001, a.z + a.vz * 0.001
        end
    end
    return list[1].x
end

local function flips(n)
    local p, q, s, sign, most, sum = {}, {}, {}, 1, 0, 0
    for i = 1, n do p[i], q[i], s[i] = i, i, i end
    while true do
        local first = p[1]
        if first ~= 1 then
            for i = 2, n do q[i] = p[i] end
            local count = 1
            while true do
                local other = q[first]
                if other == 1 then
                    sum = sum + sign * count
                    if count > most then most = count end
                    break
                end
                q[first] = first
                if first >= 4 then
                    local i, j = 2, first - 1
                    repeat
                        q[i], q[j] = q[j], q[i]
                        i, j = i + 1, j - 1
                    until i >= j
                end
                first, count = other, count + 1
            end
        end
        if sign == 1 then
            p[2], p[1], sign = p[1], p[2], -1
        else
            p[2], p[3], sign = p[3], p[2], 1
            for i = 3, n do
                local k = s[i]
                if k ~= 1 then
                    s[i] = k - 1
                    break
                end
                if i == n then return sum, most end
                s[i] = i
                local t = p[1]
                for j = 1, i do p[j] = p[j + 1] end
                p[i + 1] = t
            end
        end
    end
end

local function tree(depth)
    if depth == 0 then return {} end
    return {left = tree(depth - 1), right = tree(depth - 1)}
end
local function count(node) return node.left and 1 + count(node.left) + count(node.right) or 1 end

local function matrices(n)
    local a, b, c = {}, {}, {}
    for i = 1, n do
        a[i], b[i], c[i] = {}, {}, {}
        for j = 1, n do a[i][j], b[i][j] = i + j, i - j end
    end
    for i = 1, n do
        local row, out = a[i], c[i]
        for j = 1, n do
            local sum = 0
            for k = 1, n do sum = sum + row[k] * b[k][j] end
            out[j] = sum
        end
    end
    return c[n][1]
end

local function calculate(text)
    local tokens, at = {}, 1
    while at <= #text do
        local from, to, number = text:find("^%s*(%d+)", at)
        if not from then from, to, number = text:find("^%s*([-+*/()])", at) end
        tokens[#tokens + 1], at = tonumber(number) or number, to + 1
    end
    local position, sum = 1
    local function atom()
        local token = tokens[position]
        position = position + 1
        if token ~= "(" then return token end
        local value = sum()
        position = position + 1
        return value
    end
    local function product()
        local value = atom()
        while tokens[position] == "*" or tokens[position] == "/" do
            position = position + 1
            if tokens[position - 1] == "*" then value = value * atom() else value = value / atom() end
        end
        return value
    end
    function sum()
        local value = product()
        while tokens[position] == "+" or tokens[position] == "-" do
            position = position + 1
            if tokens[position - 1] == "+" then value = value + product() else value = value - product() end
        end
        return value
    end
    return sum()
end

local Vector = {}
Vector.__index = Vector
Vector.__add = function(a, b) return setmetatable({a[1] + b[1], a[2] + b[2]}, Vector) end
Vector.__eq = function(a, b) return a[1] == b[1] and a[2] == b[2] end
Vector.__lt = function(a, b) return a[1] < b[1] end
Vector.__tostring = function(a) return "(" .. a[1] .. ", " .. a[2] .. ")" end

local function vectors(n)
    local sum, largest, bytes = setmetatable({0, 0}, Vector), setmetatable({0, 0}, Vector), 0
    for i = 1, n do
        local v = setmetatable({i * 31 % 101, i * 17 % 103}, Vector)
        sum = sum + v
        if largest < v then largest = v end
        if v == largest then bytes = bytes + #tostring(v) end
    end
    return tostring(sum), bytes
end

local function cached(n)
    local cache = setmetatable({}, {__index = function(self, key)
        local value = string.byte(key, 1, -1) + #key
        rawset(self, key, value)
        return value
    end})
    local sum = 0
    for i = 1, n do sum = sum + cache["key" .. i * i % 97] + select("#", table.unpack({1, 2, 3})) end
    return sum
end

local function bits(n)
    local x = 0x1234
    for i = 1, n do x = ((x << 5) ~ (x >> 3) ~ i) & 0xffffffff end
    return x
end

for _ = 1, times do
    print(("%.6f"):format(bodies(400)), flips(6), count(tree(10)), matrices(28))
    for i = 1, 40 do
        assert(calculate(("(1 + %d) * 3 - 8 / (2 + 2) + ((%d))"):format(i, i)) == (1 + i) * 3 - 2 + i)
    end
    print(vectors(2500))
    print(cached(3000), bits(20000))
end
