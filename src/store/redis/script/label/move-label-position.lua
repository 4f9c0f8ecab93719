-- Moves the position up to which Redis has all changes of labels, or of actions, unless another has moved it.
--
-- KEYS[1]  hash {epoch, position, doubted}; doubted is the millisecond of the server's clock before which no
--          cached entry is confirmed
-- ARGV[1]  epoch and ARGV[2] position that the hash must have; both empty: there must be no hash
-- ARGV[3]  epoch and ARGV[4] position that it gets
-- ARGV[5]  1: entries that were put until now are in doubt
-- Returns  1 when it was moved, else 0

local held = redis.call('HMGET', KEYS[1], 'epoch', 'position')
if (held[1] or '') ~= ARGV[1] or (held[2] or '') ~= ARGV[2] then
  return 0
end
redis.call('HSET', KEYS[1], 'epoch', ARGV[3], 'position', ARGV[4])
if ARGV[5] == '1' then
  local time = redis.call('TIME')
  local milliseconds = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
  redis.call('HSET', KEYS[1], 'doubted', string.format('%.0f', milliseconds))
end
return 1
