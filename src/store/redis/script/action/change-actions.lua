-- Changes the actions of devices that have the expected revision.
--
-- KEYS[i]  text of one device, as in get-actions.lua
-- ARGV     for each key: the expected revision, 0 for none; its new text; milliseconds to keep it
-- Returns  for each key 1 when it was changed, else 0

local changed = {}
for i, key in ipairs(KEYS) do
  local held = redis.call('GET', key)
  local known = held and string.match(held, '^%d+') or '0'
  changed[i] = known == ARGV[3 * i - 2] and 1 or 0
  if changed[i] == 1 then
    redis.call('SET', key, ARGV[3 * i - 1], 'PX', ARGV[3 * i])
  end
end
return changed
