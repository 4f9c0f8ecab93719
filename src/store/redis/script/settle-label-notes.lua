-- Removes notes of labels that are on record now, or that something newer on record has replaced.
--
-- KEYS[i]  hash of one device, as in note-labels.lua
-- ARGV     for each key: milliseconds since 1970 up to which notes are settled, number of labels, and the key
--          of each label
-- Returns  0, without meaning

local at = 1
for _, key in ipairs(KEYS) do
  local settled, count = tonumber(ARGV[at]), tonumber(ARGV[at + 1])
  at = at + 2
  if redis.call('EXISTS', key) == 1 then
    for field = at, at + count - 1 do
      local known = redis.call('HGET', key, ARGV[field])
      if known and tonumber(string.match(known, '^%d+')) <= settled then
        redis.call('HDEL', key, ARGV[field])
      end
    end
  end
  at = at + count
end
return 0
