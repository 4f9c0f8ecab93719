-- Reads what is held of the labels of devices, and keeps what is used.
--
-- KEYS[i]  hash of one device: the field without a name is "<revision> <labels>" as the ledger has them; every
--          other field is a note by the label's key, "<milliseconds> <end> <value>": the time at which it was
--          sent, and the millisecond of the server's clock at which it ends
-- ARGV[i]  milliseconds: a hash with labels of the ledger that has less than half of them left gets all of them
-- Returns  for each key {milliseconds that were left, field, value, field, value…} without what has ended, or
--          nil when there is none

local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)

local found = {}
for i, key in ipairs(KEYS) do
  local held = redis.call('HGETALL', key)
  if #held == 0 then
    -- Not nil, which would end the reply.
    found[i] = false
  else
    local left = redis.call('PTTL', key)
    local reply = {left}
    for at = 1, #held, 2 do
      local isStored = held[at] == ''
      if isStored and left < tonumber(ARGV[i]) / 2 then
        -- A server that takes no writes for now can be read all the same.
        redis.pcall('PEXPIRE', key, ARGV[i])
      end
      if isStored or tonumber(string.match(held[at + 1], '^%d+ (%d+)') or 0) > now then
        reply[#reply + 1] = held[at]
        reply[#reply + 1] = held[at + 1]
      end
    end
    found[i] = reply
  end
end
return found
