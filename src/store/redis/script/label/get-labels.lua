-- Reads what is held of the labels of devices, and keeps what is used.
--
-- KEYS[i]  hash of one device (device-hash.lua): the text LABELS is "<revision>;<labels>" as the ledger has them, or
--          "<revision> <labels>" from a node of 0.3.0; a note is "<milliseconds> <end> <value>": the time at which it
--          was sent, and the millisecond of the server's clock at which it ends
-- ARGV[i]  milliseconds: a hash with labels of the ledger that has less than half of them left gets all of them
-- Returns  for each key {milliseconds that were left, labels or false, key and note, key and note…} without notes that
--          have ended, or false when there is no hash

local now = present()
-- Numbers of the parts of labels, by their names.
local numbers = {}
for number, name in ipairs(namesOf(LABELS)) do
  numbers[name] = number
end

local found = {}
for i, key in ipairs(KEYS) do
  local held = redis.call('HGETALL', key)
  if #held == 0 then
    -- Not nil, which would end the reply.
    found[i] = false
  else
    local parts, reply = {}, {redis.call('PTTL', key), false}
    for at = 1, #held, 2 do
      local field, value = held[at], held[at + 1]
      if numbers[field] then
        parts[numbers[field]] = value
      elseif isNote(field) and tonumber(string.match(value, '^%d+ (%d+)') or 0) > now then
        reply[#reply + 1] = field
        reply[#reply + 1] = value
      end
    end
    if parts[1] then
      reply[2] = joinParts(parts)
      if reply[1] < tonumber(ARGV[i]) / 2 then
        -- A server that takes no writes for now can be read all the same.
        redis.pcall('PEXPIRE', key, ARGV[i])
      end
    end
    found[i] = reply
  end
end
return found
