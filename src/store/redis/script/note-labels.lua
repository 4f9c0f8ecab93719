-- Notes labels that devices have sent and that the ledger may not have yet, and announces the devices. Of each label
-- the newest note stays.
--
-- KEYS[i]  hash of one device, as in get-labels.lua
-- ARGV     for each key: pub/sub channel, the same for all; announcement of the device as JSON; milliseconds since
--          1970 at which the labels were sent; number of labels, and each label's key and value
-- Returns  0, without meaning

-- Milliseconds that a note lives, and the greatest number of notes, as label-store.ts states them: not arguments,
-- because each argument of each key takes time on the way of a check.
local life, most = 900000, 32

local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local ending = ' ' .. string.format('%.0f', now + life) .. ' '

local at = 1
local announced = {}
for i, key in ipairs(KEYS) do
  announced[i] = ARGV[at + 1]
  local sent, count = ARGV[at + 2], tonumber(ARGV[at + 3])
  at = at + 4
  if redis.call('HLEN', key) + count > most + 1 then
    -- A device that sends ever other labels: the newest ones count first.
    for _, field in ipairs(redis.call('HKEYS', key)) do
      if field ~= '' then
        redis.call('HDEL', key, field)
      end
    end
  end
  for _ = 1, count do
    local known = redis.call('HGET', key, ARGV[at])
    if not known or tonumber(string.match(known, '^%d+')) <= tonumber(sent) then
      redis.call('HSET', key, ARGV[at], sent .. ending .. ARGV[at + 1])
    end
    at = at + 2
  end
  if redis.call('PTTL', key) < life then
    redis.call('PEXPIRE', key, life)
  end
end
redis.call('PUBLISH', ARGV[1], '[' .. table.concat(announced, ',') .. ']')
return 0
