-- The hash of a device, which has its labels, notes of labels, and its actions. These lines stand before each script
-- that uses one.
--
-- Redis keeps a hash as one short list while no value has more than 64 bytes (hash-max-listpack-value): a table takes
-- some 200 bytes more. So a text is cut: its first part is in the field of its name, the others are in
-- "<name><NUL><number>". All parts but the last one are full, which tells whether there are more. A text of more than
-- MOST parts is one value. Every field with another name is a note by the key of a label: no label has NUL in its key.

local LABELS, ACTIONS = '', '\0a'
local SIZE, MOST = 63, 8
-- Number of parts that one command reads; few texts have more.
local FIRST = 3

-- Returns the present millisecond of the server's clock.
local function present()
  local time = redis.call('TIME')
  return tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
end

local function isNote(field)
  return field ~= LABELS and string.byte(field) ~= 0
end

-- Returns the names of the parts of a text, in order.
local function namesOf(name)
  local names = {name}
  for number = 2, MOST do
    names[number] = name .. '\0' .. number
  end
  return names
end

-- Returns the text of parts, of which the first is there. A text that lacks a part is empty, but for labels of a node
-- of 0.3.0, which have one part of any length.
local function joinParts(parts)
  local last = 1
  while parts[last] and #parts[last] == SIZE do
    last = last + 1
  end
  if parts[last] then
    return last == 1 and parts[1] or table.concat(parts, '', 1, last)
  end
  return string.match(parts[1], '^%d+ .*') or ''
end

-- Returns a text, or false when there is none.
local function readText(key, names)
  local parts = redis.call('HMGET', key, unpack(names, 1, FIRST))
  if not parts[1] or #parts[1] ~= SIZE then
    return parts[1]
  end
  if parts[FIRST] and #parts[FIRST] == SIZE then
    parts = redis.call('HMGET', key, unpack(names))
  end
  return joinParts(parts)
end

local function countParts(text)
  local count = math.floor(#text / SIZE) + 1
  return count > MOST and 1 or count
end

-- Writes a text, and removes the further parts of the one that was held.
local function writeText(key, names, text, held)
  local count = countParts(text)
  if count == 1 then
    redis.call('HSET', key, names[1], text)
  else
    local written = {}
    for number = 1, count do
      written[2 * number - 1] = names[number]
      written[2 * number] = string.sub(text, (number - 1) * SIZE + 1, number * SIZE)
    end
    redis.call('HSET', key, unpack(written))
  end
  local before = held and countParts(held) or 0
  if before > count then
    redis.call('HDEL', key, unpack(names, count + 1, before))
  end
end

-- Lets a hash live so many milliseconds at least.
local function keepFor(key, milliseconds)
  if redis.call('PTTL', key) < tonumber(milliseconds) then
    redis.call('PEXPIRE', key, milliseconds)
  end
end

