-- Acknowledges and deletes batches, so that the stream's length is the backlog. Ignores unknown ids.
--
-- KEYS[1]  stream of batches
-- ARGV[1]  name of the consumer group
-- ARGV[2]  key of the number of check-ins in the stream, which lies in the same slot
-- ARGV[3…] id of a batch, number of its check-ins, …
-- Returns  number of deleted batches

local removed, check_ins = 0, 0
for i = 3, #ARGV, 2 do
  redis.call('XACK', KEYS[1], ARGV[1], ARGV[i])
  if redis.call('XDEL', KEYS[1], ARGV[i]) == 1 then
    removed = removed + 1
    check_ins = check_ins + tonumber(ARGV[i + 1])
  end
end
-- pcall: the number matters less than the batches. It may be refused when Redis' memory is full.
if removed > 0 then
  redis.pcall('DECRBY', ARGV[2], string.format('%.0f', check_ins))
end
return removed
