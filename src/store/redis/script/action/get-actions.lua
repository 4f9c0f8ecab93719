-- Reads the actions of devices.
--
-- KEYS[i]  text of one device: "<revision> <milliseconds> <actions>", where the milliseconds since 1970 are those
--          of a change that the ledger does not have, or 0
-- Returns  for each key {milliseconds left to live, text}, or false when there is none

local found = {}
for i, key in ipairs(KEYS) do
  local held = redis.call('GET', key)
  -- Not nil, which would end the reply.
  found[i] = held and {redis.call('PTTL', key), held} or false
end
return found
