-- Empties the window of `count-request.lua`.
--
-- KEYS[1]  list: microseconds of the allowed requests
-- Returns  number of deleted keys

return redis.call('DEL', KEYS[1])
