-- Appends a packed batch of check-ins to the stream, unless the queue is at its limit.
--
-- KEYS[1]  stream of batches
-- ARGV[1]  limit of the stream in bytes
-- ARGV[2]  bytes that a batch counts in addition to its payload
-- ARGV[3]  the packed batch
-- Returns  1 if accepted, 0 if the queue is full
--
-- Each entry stores the total of bytes appended up to its end, so the difference between the newest and the
-- oldest entry is the size of the queue. A separate counter could drift, or lie on another node of a cluster.
-- Batches acknowledged out of order count until the older ones are. Entries without a total count as 0.

local function total_of(entry)
  return entry and tonumber(entry[2][4]) or 0
end

local stream = KEYS[1]
local size = #ARGV[3] + tonumber(ARGV[2])
local oldest = redis.call('XRANGE', stream, '-', '+', 'COUNT', 1)[1]
local total = 0
if oldest then
  total = total_of(redis.call('XREVRANGE', stream, '+', '-', 'COUNT', 1)[1])
  local before_oldest = total_of(oldest) - #oldest[2][2] - tonumber(ARGV[2])
  if total - before_oldest >= tonumber(ARGV[1]) then
    return 0
  end
end
redis.call('XADD', stream, '*', 'batch', ARGV[3], 'total', string.format('%.0f', total + size))
return 1
