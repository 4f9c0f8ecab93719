-- Empties the window of `count-request.lua`.
--
-- KEYS[1]  list: microseconds of the allowed requests
-- Returns  how many keys there were

return redis.call('DEL', KEYS[1])
