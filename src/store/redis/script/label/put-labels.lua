-- Stores the labels of devices as the ledger has them, unless a confirmed entry has a higher revision, and removes
-- the notes that are no newer. The revision is the number that a value begins with; a value that begins otherwise
-- is replaced.
--
-- KEYS[i]  hash of one device, as in get-labels.lua
-- ARGV     for each key: its new value, "<revision> <labels>"; milliseconds to keep it; milliseconds: an entry
--          with more than that left is confirmed; number of labels of which notes may be removed, and of each the
--          key and the time up to which they are
-- Returns  0, without meaning

local at = 1
for _, key in ipairs(KEYS) do
  local value, count = ARGV[at], tonumber(ARGV[at + 3])
  local stored = redis.call('HGET', key, '')
  local known = stored and tonumber(string.match(stored, '^%d+'))
  local revision = tonumber(string.match(value, '^%d+'))
  if not known or known <= revision or redis.call('PTTL', key) <= tonumber(ARGV[at + 2]) then
    redis.call('HSET', key, '', value)
    redis.call('PEXPIRE', key, ARGV[at + 1])
  end
  at = at + 4
  if count > 0 and redis.call('HLEN', key) > 1 then
    for field = at, at + 2 * count - 1, 2 do
      local note = redis.call('HGET', key, ARGV[field])
      if note and tonumber(string.match(note, '^%d+')) <= tonumber(ARGV[field + 1]) then
        redis.call('HDEL', key, ARGV[field])
      end
    end
  end
  at = at + 2 * count
end
return 0
