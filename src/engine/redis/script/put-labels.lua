-- Caches the labels of devices unless a higher revision is cached already. The revision is the number that a
-- value begins with; a cached value that begins otherwise is replaced.
--
-- KEYS[i] string of one device ARGV[2i-1] its new value, "<revision> <labels>" ARGV[2i] milliseconds to keep
-- it Returns 0, without meaning

for i, key in ipairs(KEYS) do
  local value = ARGV[2 * i - 1]
  local stored = redis.call('GET', key)
  local known = stored and tonumber(string.match(stored, '^%d+'))
  if not known or known <= tonumber(string.match(value, '^%d+')) then
    redis.call('SET', key, value, 'PX', ARGV[2 * i])
  end
end
return 0
