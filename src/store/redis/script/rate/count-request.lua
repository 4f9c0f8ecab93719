-- Counts one request in an exact sliding window; a refused request leaves no trace. Uses the server's clock,
-- so that nodes whose clocks differ share one window.
--
-- KEYS[1]  list: microseconds of the allowed requests, oldest first (not a sorted set, because two requests
--          may have the same microsecond)
-- ARGV[1]  limit, at least 1
-- ARGV[2]  window in milliseconds
-- Returns  {requests left, milliseconds until the oldest leaves the window} if allowed,
--          else {-1, milliseconds until a request would be allowed}

local limit = tonumber(ARGV[1])
local window = tonumber(ARGV[2]) * 1000
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000000 + tonumber(time[2])

-- Step 1: if the server's clock was set back by more than a window, start anew; otherwise old entries would
-- block requests for that long. Step 4 handles smaller steps back and keeps the list in order.
local newest = tonumber(redis.call('LINDEX', KEYS[1], -1) or '0')
if newest - now > window then
  redis.call('DEL', KEYS[1])
  newest = 0
end

-- Step 2: remove entries that have left the window.
local oldest = redis.call('LINDEX', KEYS[1], 0)
while oldest and tonumber(oldest) <= now - window do
  redis.call('LPOP', KEYS[1])
  oldest = redis.call('LINDEX', KEYS[1], 0)
end

-- Step 3: refuse if the window is full. If the limit was lowered, several entries must leave first.
local count = redis.call('LLEN', KEYS[1])
if count >= limit then
  local last = tonumber(redis.call('LINDEX', KEYS[1], count - limit))
  return {-1, math.ceil((last + window - now) / 1000)}
end

-- Step 4: record the request. %.0f, because tostring would round microseconds; one extra millisecond, because
-- Redis expires keys by whole milliseconds and must not be early.
local at = math.max(now, newest)
redis.call('RPUSH', KEYS[1], string.format('%.0f', at))
redis.call('PEXPIRE', KEYS[1], math.ceil((at - now + window) / 1000) + 1)
return {limit - count - 1, math.ceil((tonumber(oldest or at) + window - now) / 1000)}
