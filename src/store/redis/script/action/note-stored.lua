-- Notes that the ledger has the actions of devices.
--
-- KEYS[i]  text of one device, as in get-actions.lua
-- ARGV     for each key: the revision that the ledger has
-- Returns  0, without meaning

for i, key in ipairs(KEYS) do
  local held = redis.call('GET', key)
  if held and string.match(held, '^%d+') == ARGV[i] then
    redis.call('SET', key, (string.gsub(held, '^(%d+) %d+ ', '%1 0 ', 1)), 'KEEPTTL')
  end
end
return 0
