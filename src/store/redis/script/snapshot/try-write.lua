-- Finds out whether Redis takes writes: it refuses these commands when it refuses any. Leaves nothing.
--
-- KEYS  lists that do not exist

for _, key in ipairs(KEYS) do
  redis.call('RPUSH', key, '')
  redis.call('DEL', key)
end
