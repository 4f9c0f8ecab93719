-- Notes labels that devices have sent and that the ledger may not have yet, and announces the devices. Of each label
-- the newest note stays.
--
-- KEYS[i]  hash of one device, as in get-labels.lua
-- ARGV[1]  pub/sub channel
-- ARGV[2]  announcement of the devices
-- ARGV[3]  packed, one key after the other: milliseconds since 1970 at which the labels were sent (>d); number of
--          labels (>I2); key and value of each (>I2c0)
-- Returns  0, without meaning

-- Milliseconds that a note lives, and the greatest number of notes, as label-store.ts states them.
local life, most = 900000, 32

local ending = ' ' .. string.format('%.0f', present() + life) .. ' '

-- Removes all notes of a device that would have too many: one that sends ever other labels.
local function makeRoom(key, count)
  local notes = {}
  for _, field in ipairs(redis.call('HKEYS', key)) do
    if isNote(field) then
      notes[#notes + 1] = field
    end
  end
  if #notes > 0 and #notes + count > most then
    redis.call('HDEL', key, unpack(notes))
  end
end

local packed, at = ARGV[3], 1
for _, key in ipairs(KEYS) do
  local sent, count
  sent, count, at = struct.unpack('>dI2', packed, at)
  local head = string.format('%.0f', sent) .. ending
  if redis.call('HLEN', key) + count > most then
    makeRoom(key, count)
  end
  for _ = 1, count do
    local field, value
    field, value, at = struct.unpack('>I2c0I2c0', packed, at)
    local known = redis.call('HGET', key, field)
    if not known or tonumber(string.match(known, '^%d+')) <= sent then
      redis.call('HSET', key, field, head .. value)
    end
  end
  keepFor(key, life)
end
redis.call('PUBLISH', ARGV[1], ARGV[2])
return 0
