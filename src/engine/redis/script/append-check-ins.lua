-- Appends a batch unless the queue is at its bound. The stream is never trimmed: an accepted batch stays
-- until it is acknowledged.
--
-- KEYS[1]  stream of batches
-- ARGV[1]  maximum number of waiting batches
-- ARGV[2]  the packed batch
-- Returns  1 when it was accepted, 0 when the queue is full

if redis.call('XLEN', KEYS[1]) >= tonumber(ARGV[1]) then
  return 0
end
redis.call('XADD', KEYS[1], '*', 'batch', ARGV[2])
return 1
