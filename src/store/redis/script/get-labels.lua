-- Reads the cached labels of devices, and keeps those that are used.
--
-- KEYS[i]  string of one device, "<revision> <labels>"
-- ARGV[i]  milliseconds: an entry with less than half of them left gets all of them
-- Returns  for each key {value, milliseconds that were left}, or nil when there is none

local found = {}
for i, key in ipairs(KEYS) do
  local value = redis.call('GET', key)
  if value then
    local left = redis.call('PTTL', key)
    if left < tonumber(ARGV[i]) / 2 then
      -- A server that takes no writes for now can be read all the same.
      redis.pcall('PEXPIRE', key, ARGV[i])
    end
    found[i] = {value, left}
  else
    -- Not nil, which would end the reply.
    found[i] = false
  end
end
return found
