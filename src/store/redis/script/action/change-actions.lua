-- Changes the actions of devices that have the expected revision.
--
-- KEYS[i]  hash of one device, as in get-actions.lua
-- ARGV     for each key: the expected revision, 0 for none; its new "<revision> <milliseconds> <actions>";
--          milliseconds to keep it
-- Returns  for each key 1 when it was changed, else 0

local now, names = struct.pack('>I6', present()), namesOf(ACTIONS)
local changed = {}
for i, key in ipairs(KEYS) do
  local held = readText(key, names)
  local known = held and string.match(held, '^%d+', 7) or '0'
  changed[i] = known == ARGV[3 * i - 2] and 1 or 0
  if changed[i] == 1 then
    writeText(key, names, now .. ARGV[3 * i - 1], held)
    keepFor(key, ARGV[3 * i])
  end
end
return changed
