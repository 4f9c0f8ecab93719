-- Puts actions of the ledger, unless a higher revision is held: that is a change which the ledger will get.
--
-- KEYS[i]  hash of one device, as in get-actions.lua
-- ARGV     for each key: its new "<revision> <milliseconds> <actions>"; milliseconds to keep what is held
-- Returns  0, without meaning

local now, names = struct.pack('>I6', present()), namesOf(ACTIONS)
for i, key in ipairs(KEYS) do
  local text = ARGV[2 * i - 1]
  local held = readText(key, names)
  local known = held and tonumber(string.match(held, '^%d+', 7))
  if known and known > tonumber(string.match(text, '^%d+')) then
    text = string.sub(held, 7)
  end
  writeText(key, names, now .. text, held)
  keepFor(key, ARGV[2 * i])
end
return 0
