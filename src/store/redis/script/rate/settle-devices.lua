-- Decides one request of each device and records the requests that its process owes, by the rule of
-- `settleDebt` in src/domain/fleet/shared-window.ts. Uses the server's clock, so that nodes whose clocks
-- differ share one window.
--
-- KEYS[i]       sorted set of one device: requests by the microsecond of their admission
-- ARGV[1]       limit, at least 1
-- ARGV[2]       window in milliseconds
-- ARGV[3]       packed, one key after the other: "<process>:<id>" of the request (>I2c0); number of owed requests
--               (>I2); of each "<process>:<id>" (>I2c0) and the age in milliseconds (>d)
-- Returns       for each key 0 if the request is allowed, else the milliseconds until one would be

local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000000 + tonumber(time[2])

-- %.0f because tostring would round microseconds.
local function exact(number)
  return string.format('%.0f', number)
end

local limit, window = tonumber(ARGV[1]), tonumber(ARGV[2]) * 1000
local packed, at = ARGV[3], 1

local function settle(key)
  local request, owed
  request, owed, at = struct.unpack('>I2c0I2', packed, at)

  -- Step 1: remove entries that have left the window, and entries more than a window in the future, which
  -- would stay for that long after the clock was set back.
  redis.call('ZREMRANGEBYSCORE', key, '-inf', exact(now - window))
  redis.call('ZREMRANGEBYSCORE', key, '(' .. exact(now + window), '+inf')
  local isAllowed = redis.call('ZCARD', key) < limit

  -- Step 2: record the owed requests. NX, because the caller repeats a call without a reply.
  for _ = 1, owed do
    local id, age
    id, age, at = struct.unpack('>I2c0d', packed, at)
    local micros = age * 1000
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
  waits[i] = settle(key)
end
return waits
