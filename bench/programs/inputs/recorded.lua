-- Calls, tables, sorting, strings, objects, closures, coroutines and a JSON writer and reader.
-- `lua recorded.lua [TIMES]`
local times = tonumber(arg and arg[1]) or 1

local function fib(n)
    if n < 2 then return n end
    return fib(n - 1) + fib(n - 2)
end

local function queens(n)
    local columns, sums, differences, found = {}, {}, {}, 0
    local function place(row)
        if row > n then
            found = found + 1
            return
        end
        for column = 1, n do
            local sum, difference = row + column, row - column + n
            if not columns[column] and not sums[sum] and not differences[difference] then
                columns[column], sums[sum], differences[difference] = true, true, true
                place(row + 1)
                columns[column], sums[sum], differences[difference] = nil, nil, nil
            end
        end
    end
    place(1)
    return found
end

local function sorted(n)
    local list = {}
    for i = 1, n do list[i] = (i * 7919) % 10007 end
    table.sort(list)
    table.sort(list, function(a, b) return a % 100 > b % 100 or (a % 100 == b % 100 and a < b) end)
    return list
end

local Account = {}
Account.__index = Account
function Account.new(owner) return setmetatable({owner = owner, balance = 0, log = {}}, Account) end
function Account:deposit(amount)
    self.balance = self.balance + amount
    self.log[#self.log + 1] = amount
end
local Savings = setmetatable({}, {__index = Account})
Savings.__index = Savings
function Savings.new(owner)
    local account = setmetatable(Account.new(owner), Savings)
    account.rate = 0.02
    return account
end
function Savings:interest() self:deposit(self.balance * self.rate) end

local function accounts(n)
    local total = 0
    for i = 1, n do
        local account = i % 3 == 0 and Account.new("a" .. i) or Savings.new("s" .. i)
        for j = 1, 5 do account:deposit(j * i) end
        if account.interest then account:interest() end
        total = total + account.balance
    end
    return total
end

local function encode(value)
    if type(value) == "table" then
        local parts = {}
        if #value > 0 then
            for i, item in ipairs(value) do parts[i] = encode(item) end
            return "[" .. table.concat(parts, ",") .. "]"
        end
        local keys = {}
        for key in pairs(value) do keys[#keys + 1] = key end
        table.sort(keys)
        for _, key in ipairs(keys) do parts[#parts + 1] = encode(key) .. ":" .. encode(value[key]) end
        return "{" .. table.concat(parts, ",") .. "}"
    end
    if type(value) == "string" then return '"' .. value:gsub('[\\"]', "\\%0") .. '"' end
    return tostring(value)
end

local decode
local function decode_list(text, at)
    local list = {}
    at = at + 1
    while text:sub(at, at) ~= "]" do
        list[#list + 1], at = decode(text, at)
        if text:sub(at, at) == "," then at = at + 1 end
    end
    return list, at + 1
end
local function decode_object(text, at)
    local object = {}
    at = at + 1
    while text:sub(at, at) ~= "}" do
        local key
        key, at = decode(text, at)
        object[key], at = decode(text, at + 1)
        if text:sub(at, at) == "," then at = at + 1 end
    end
    return object, at + 1
end
function decode(text, at)
    local first = text:sub(at, at)
    if first == "[" then return decode_list(text, at) end
    if first == "{" then return decode_object(text, at) end
    if first == '"' then
        local to = at + 1
        while text:sub(to, to) ~= '"' do
            if text:sub(to, to) == "\\" then to = to + 1 end
            to = to + 1
        end
        return text:sub(at + 1, to - 1):gsub("\\(.)", "%1"), to + 1
    end
    local from, to = text:find("^[-%w.]+", at)
    local word = text:sub(from, to)
    if word == "true" then return true, to + 1 end
    return tonumber(word), to + 1
end

local function documents(n)
    local bytes = 0
    for i = 1, n do
        local document = {id = i, name = 'the "' .. i .. '"', tags = {}, nested = {deep = {1, 2.5, true}}}
        for j = 1, 8 do document.tags[j] = ("tag%d"):format(i * j % 17) end
        local text = encode(document)
        bytes = bytes + #encode((decode(text, 1)))
    end
    return bytes
end

local function words(n)
    local lines = {}
    for i = 1, n do lines[i] = ("%d the quick %s fox no. %05.1f"):format(i, ("ab"):rep(i % 9), i / 7) end
    local text, counts, sum = table.concat(lines, "\n"), {}, 0
    for word in text:gmatch("%a+") do counts[word] = (counts[word] or 0) + 1 end
    for digits in text:gmatch("%d+%.?%d*") do sum = sum + tonumber(digits) end
    local shouted = text:gsub("(%a)(%a*)", function(a, b) return a:upper() .. b end)
    return counts.the + sum + #shouted:lower()
end

local function producer(n)
    return coroutine.wrap(function()
        for i = 1, n do coroutine.yield(i) end
    end)
end
local function filtered(n)
    local sum = 0
    for i in producer(n) do
        if i % 3 ~= 0 then sum = sum + i end
    end
    return sum
end

local function composed(n)
    local chain = function(x) return x end
    for i = 1, 10 do
        local inner = chain
        chain = function(x) return inner(x) + i end
    end
    local sum = 0
    for i = 1, n do sum = sum + chain(i) end
    return sum
end

local function guarded(n)
    local failed = 0
    for i = 1, n do
        if not pcall(function() if i % 4 == 0 then error({code = i}) end end) then failed = failed + 1 end
    end
    return failed
end

for _ = 1, times do
    local list = sorted(4000)
    print(fib(20), queens(7), list[1], list[2000], accounts(1500))
    print(documents(120), words(600), filtered(5000), composed(2000), guarded(1500))
end
