-- Decides one request of each device and records the requests that its process owes, by the rule of
-- `settleDebt` in src/domain/fleet/shared-window.ts. Uses the server's clock, so that nodes whose clocks
-- differ share one window.
--
-- KEYS[i]       sorted set of one device: requests by the microsecond of their admission
-- ARGV[4i-3]    limit, at least 1
-- ARGV[4i-2]    window in milliseconds
-- ARGV[4i-1]    "<process>:<id>" of the request
-- ARGV[4i]      owed requests, separated by spaces: "<process>:<id> <age in milliseconds>"
-- Returns       for each key 0 if the request is allowed, else the milliseconds until one would be

local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000000 + tonumber(time[2])

-- %.0f because tostring would round microseconds.
local function exact(number)
  return string.format('%.0f', number)
end

local function settle(key, limit, window, request, owed)
  -- Step 1: remove entries that have left the window, and entries more than a window in the future, which
  -- would stay for that long after the clock was set back.
  redis.call('ZREMRANGEBYSCORE', key, '-inf', exact(now - window))
  redis.call('ZREMRANGEBYSCORE', key, '(' .. exact(now + window), '+inf')
  local isAllowed = redis.call('ZCARD', key) < limit

  -- Step 2: record the owed requests. NX, because the caller repeats a call without a reply.
  for id, age in string.gmatch(owed, '(%S+) (%d+)') do
    local micros = tonumber(age) * 1000
    if micros < window then
      redis.call('ZADD', key, 'NX', exact(now - micros), id)
    end
  end

  -- Step 3: record the request, or compute the wait; above the limit, several entries must leave first.
  local wait = 0
  if isAllowed then
    redis.call('ZADD', key, 'NX', exact(now), request)
  else
    local last = redis.call('ZREVRANGE', key, limit - 1, limit - 1, 'WITHSCORES')[2]
    wait = math.max(1, math.ceil((tonumber(last) + window - now) / 1000))
  end

  -- Step 4: one extra millisecond, because Redis must not expire the key early.
  redis.call('PEXPIRE', key, math.ceil(window / 1000) + 1)
  return wait
end

local waits = {}
for i, key in ipairs(KEYS) do
  local at = 4 * i - 3
  local limit, window = tonumber(ARGV[at]), tonumber(ARGV[at + 1]) * 1000
  waits[i] = settle(key, limit, window, ARGV[at + 2], ARGV[at + 3])
end
return waits
