-- Tells how much waits in the stream of check-ins, and since when. Changes nothing.
--
-- KEYS[1]  stream of batches
-- Returns  {number of batches, id of the oldest or an empty string, milliseconds of the server's clock}

-- The stream never expires, so this writes nothing; but only an account that may write, on a server that takes
-- writes, may ask for it.
redis.call('PERSIST', KEYS[1])
local length = redis.call('XLEN', KEYS[1])
local oldest = redis.call('XRANGE', KEYS[1], '-', '+', 'COUNT', 1)[1]
local now = redis.call('TIME')
return { length, oldest and oldest[1] or '', now[1] * 1000 + math.floor(now[2] / 1000) }
