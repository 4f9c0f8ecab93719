-- Measures the backlog of the stream of check-ins and its age. Changes nothing.
--
-- KEYS[1]  stream of batches
-- ARGV[1]  bytes that a batch counts in addition to its payload
-- Returns  {number of batches, id of the oldest or an empty string, the server's clock in milliseconds, bytes
--          that count against the limit (see append-check-ins)}

-- PERSIST does nothing here, because the stream never expires; it makes the script fail for an account, or on
-- a server, that cannot write.
redis.call('PERSIST', KEYS[1])
local length = redis.call('XLEN', KEYS[1])
local now = redis.call('TIME')
local now_ms = now[1] * 1000 + math.floor(now[2] / 1000)
local oldest = redis.call('XRANGE', KEYS[1], '-', '+', 'COUNT', 1)[1]
if not oldest then
  return { length, '', now_ms, 0 }
end
local newest = redis.call('XREVRANGE', KEYS[1], '+', '-', 'COUNT', 1)[1]
local before_oldest = (tonumber(oldest[2][4]) or 0) - #oldest[2][2] - tonumber(ARGV[1])
local bytes = math.max(0, (tonumber(newest[2][4]) or 0) - before_oldest)
return { length, oldest[1], now_ms, bytes }
