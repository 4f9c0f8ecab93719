-- Notes that the ledger has the actions of devices.
--
-- KEYS[i]  hash of one device, as in get-actions.lua
-- ARGV     for each key: the revision that the ledger has
-- Returns  0, without meaning

local names = namesOf(ACTIONS)
for i, key in ipairs(KEYS) do
  local held = readText(key, names)
  if held and string.match(held, '^%d+', 7) == ARGV[i] then
    local text = string.gsub(string.sub(held, 7), '^(%d+) %d+ ', '%1 0 ', 1)
    writeText(key, names, string.sub(held, 1, 6) .. text, held)
  end
end
return 0
