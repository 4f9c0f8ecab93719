-- Remembers the labels of devices; of each, an entry with a higher revision stays. The revision is the
-- number that a stored value begins with; a value that begins otherwise gives way.
--
-- KEYS[i]      string of one device
-- ARGV[2i-1]   its new value, "<revision> <labels>"
-- ARGV[2i]     milliseconds to keep it
-- Returns      nothing of use

for i, key in ipairs(KEYS) do
  local value = ARGV[2 * i - 1]
  local stored = redis.call('GET', key)
  local known = stored and tonumber(string.match(stored, '^%d+'))
  if not known or known <= tonumber(string.match(value, '^%d+')) then
    redis.call('SET', key, value, 'PX', ARGV[2 * i])
  end
end
return 0
