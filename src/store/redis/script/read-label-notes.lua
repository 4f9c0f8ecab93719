-- Reads the labels that devices have sent and that are not on record yet.
--
-- KEYS[i]  hash of one device, as in note-labels.lua
-- Returns  for each key a list of field, value, field, value…; empty when there is nothing

local found = {}
for i, key in ipairs(KEYS) do
  found[i] = redis.call('HGETALL', key)
end
return found
