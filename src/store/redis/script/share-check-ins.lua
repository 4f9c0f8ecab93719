-- Tells that a taker of check-ins lives, and who else does.
--
-- KEYS[1]  sorted set of takers, by the millisecond in which each told last that it lives
-- ARGV[1]  name of the taker
-- ARGV[2]  milliseconds after which a taker that told nothing is forgotten
-- Returns  names of all that live, in the order of the names

local now = redis.call('TIME')
local now_ms = now[1] * 1000 + math.floor(now[2] / 1000)
-- Where Redis' memory is full, what is known of the takers stays: taking is what frees memory.
redis.pcall('ZADD', KEYS[1], now_ms, ARGV[1])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now_ms - tonumber(ARGV[2]))
local takers = redis.call('ZRANGE', KEYS[1], 0, -1)
table.sort(takers)
return takers
