-- Puts actions of the ledger, unless a higher revision is held: that is a change which the ledger will get.
--
-- KEYS[i]  text of one device, as in get-actions.lua
-- ARGV     for each key: its new text; milliseconds to keep what is held
-- Returns  0, without meaning

for i, key in ipairs(KEYS) do
  local text, life = ARGV[2 * i - 1], ARGV[2 * i]
  local held = redis.call('GET', key)
  local known = held and tonumber(string.match(held, '^%d+'))
  if known and known > tonumber(string.match(text, '^%d+')) then
    redis.call('PEXPIRE', key, life)
  else
    redis.call('SET', key, text, 'PX', life)
  end
end
return 0
