-- Acknowledges and deletes batches, so that the stream's length is the backlog. Ignores unknown ids.
--
-- KEYS[1]  stream of batches
-- ARGV[1]  name of the consumer group
-- ARGV[2…] ids
-- Returns  number of deleted batches

local removed = 0
for i = 2, #ARGV do
  redis.call('XACK', KEYS[1], ARGV[1], ARGV[i])
  removed = removed + redis.call('XDEL', KEYS[1], ARGV[i])
end
return removed
