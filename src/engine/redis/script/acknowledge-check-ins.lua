-- Removes batches for good, so that the length of the stream is the backlog. Unknown ids do no harm.
--
-- KEYS[1]  stream of batches
-- ARGV[1]  the consumer group of all takers
-- ARGV[2…] ids
-- Returns  how many were there

local removed = 0
for i = 2, #ARGV do
  redis.call('XACK', KEYS[1], ARGV[1], ARGV[i])
  removed = removed + redis.call('XDEL', KEYS[1], ARGV[i])
end
return removed
