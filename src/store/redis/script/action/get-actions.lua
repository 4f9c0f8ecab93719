-- Reads the actions of devices.
--
-- KEYS[i]  hash of one device (device-hash.lua): the text ACTIONS is the millisecond of the server's clock at which
--          they were put or changed (>I6), then "<revision> <milliseconds> <actions>", where the milliseconds since
--          1970 are those of a change that the ledger does not have, or 0
-- Returns  for each key {age in milliseconds, "<revision> <milliseconds> <actions>"}, or false when there is none

local now, names = present(), namesOf(ACTIONS)

local found = {}
for i, key in ipairs(KEYS) do
  local held = readText(key, names)
  -- Not nil, which would end the reply.
  found[i] = held and (#held > 6 and {now - struct.unpack('>I6', held), string.sub(held, 7)} or {0, ''})
end
return found
