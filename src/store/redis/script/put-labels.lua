-- Caches the labels of devices, unless a confirmed entry has a higher revision. The revision is the number that
-- a value begins with; a cached value that begins otherwise is replaced.
--
-- KEYS[i]      string of one device
-- ARGV[3i-2]   its new value, "<revision> <labels>"
-- ARGV[3i-1]   milliseconds to keep it
-- ARGV[3i]     milliseconds: an entry with more than that left is confirmed
-- Returns      0, without meaning

for i, key in ipairs(KEYS) do
  local value = ARGV[3 * i - 2]
  local stored = redis.call('GET', key)
  local known = stored and tonumber(string.match(stored, '^%d+'))
  local revision = tonumber(string.match(value, '^%d+'))
  if stored == value then
    redis.call('PEXPIRE', key, ARGV[3 * i - 1])
  elseif not known or known <= revision or redis.call('PTTL', key) <= tonumber(ARGV[3 * i]) then
    redis.call('SET', key, value, 'PX', ARGV[3 * i - 1])
  end
end
return 0
