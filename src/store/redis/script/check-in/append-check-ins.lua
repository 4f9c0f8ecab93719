-- Appends a packed batch of check-ins to the stream, unless the queue is at its limit.
--
-- KEYS[1]  stream of batches
-- ARGV[1]  limit of the stream in bytes
-- ARGV[2]  bytes that a batch counts in addition to its payload
-- ARGV[3]  key of the number of check-ins in the stream, which lies in the same slot
-- ARGV[4]  number of check-ins in the batch
-- ARGV[5]  the packed batch
-- Returns  0 if the queue is full; if accepted, 1 more than the number of check-ins that were lost since the
--          last append
--
-- Each entry stores the total of bytes appended up to its end, so the difference between the newest and the
-- oldest entry is the size of the queue. A separate counter could drift. Batches acknowledged out of order
-- count until the older ones are. Entries without a total count as 0.
--
-- Only an append makes the stream, and nothing of the service removes it. Where it is missing, another program
-- has removed or overwritten it, and what it held is lost. The number of check-ins may drift (a node of an
-- older version does not keep it), and is set anew by each append to an empty stream.

local function total_of(entry)
  return entry and tonumber(entry[2][4]) or 0
end

local stream = KEYS[1]
local size = #ARGV[5] + tonumber(ARGV[2])
local oldest = redis.call('XRANGE', stream, '-', '+', 'COUNT', 1)[1]
local total, held, lost = 0, 0, 0
-- pcall: another program may have written a value of another type here as well.
local counted = redis.pcall('GET', ARGV[3])
if type(counted) == 'string' then
  held = math.max(0, tonumber(counted) or 0)
end
if not oldest then
  lost = redis.call('EXISTS', stream) == 0 and held or 0
  held = 0
else
  total = total_of(redis.call('XREVRANGE', stream, '+', '-', 'COUNT', 1)[1])
  local before_oldest = total_of(oldest) - #oldest[2][2] - tonumber(ARGV[2])
  if total - before_oldest >= tonumber(ARGV[1]) then
    return 0
  end
end
redis.call('XADD', stream, '*', 'batch', ARGV[5], 'total', string.format('%.0f', total + size))
redis.call('SET', ARGV[3], string.format('%.0f', held + tonumber(ARGV[4])))
return 1 + lost
