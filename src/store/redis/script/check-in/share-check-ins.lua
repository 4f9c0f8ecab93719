-- Registers a taker of check-ins as alive and returns all live takers.
--
-- KEYS[1]  sorted set of takers, by the millisecond of their latest sign of life
-- ARGV[1]  name of the taker
-- ARGV[2]  milliseconds after which a silent taker is forgotten
-- Returns  names of all live takers, sorted

local now = redis.call('TIME')
local now_ms = now[1] * 1000 + math.floor(now[2] / 1000)
-- pcall: when Redis' memory is full, the known takers stay, because taking is what frees memory.
redis.pcall('ZADD', KEYS[1], now_ms, ARGV[1])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now_ms - tonumber(ARGV[2]))
local takers = redis.call('ZRANGE', KEYS[1], 0, -1)
table.sort(takers)
return takers
