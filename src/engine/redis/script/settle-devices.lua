-- Counts what a process owes for devices, then decides on one request of each: the rule is `settleDebt`.
-- The server's clock decides, so nodes whose clocks differ share one window.
--
-- KEYS[i]      sorted set of one device: requests by the microsecond they were allowed at. One more member,
--              'refused', has minus the microsecond of the last refusal while that promises something
-- ARGV[4i-3]   limit, at least 1
-- ARGV[4i-2]   window in milliseconds
-- ARGV[4i-1]   "<process>:<id>" of the request
-- ARGV[4i]     what is owed: "<process>:<id> <age in milliseconds>" for each, with spaces between
-- Returns      for each key the milliseconds until a request would be allowed; 0 when this one was

local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000000 + tonumber(time[2])

-- %.0f because tostring would round microseconds.
local function exact(number)
  return string.format('%.0f', number)
end

local function settle(key, limit, window, request, owed)
  -- Step 1: drop what has left the window, and what a clock that was set back by more than a window would
  -- hold for as long as that.
  redis.call('ZREMRANGEBYSCORE', key, 0, exact(now - window))
  redis.call('ZREMRANGEBYSCORE', key, '(' .. exact(now + window), '+inf')

  -- Step 2: what is promised, and whether there is a place for it before the debt is added.
  local refused = redis.call('ZSCORE', key, 'refused')
  local refusedAt = refused and -tonumber(refused)
  local isPromised = refusedAt and refusedAt > now - window and refusedAt <= now
  local countBefore = redis.call('ZCOUNT', key, 0, '+inf')

  -- Step 3: the debt. NX, because a call whose answer was lost is told again.
  for id, age in string.gmatch(owed, '(%S+) (%d+)') do
    local micros = tonumber(age) * 1000
    if micros < window then
      redis.call('ZADD', key, 'NX', exact(now - micros), id)
    end
  end

  -- Step 4: decide; one millisecond more on the key because Redis must not expire it early.
  local count = redis.call('ZCOUNT', key, 0, '+inf')
  local wait = 0
  if count < limit or (isPromised and countBefore < limit) then
    redis.call('ZREM', key, 'refused')
    redis.call('ZADD', key, 'NX', exact(now), request)
  else
    -- With more than the limit, more than the oldest must leave first.
    local last = redis.call('ZREVRANGE', key, limit - 1, limit - 1, 'WITHSCORES')[2]
    redis.call('ZADD', key, exact(-now), 'refused')
    wait = math.max(1, math.ceil((tonumber(last) + window - now) / 1000))
  end
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
