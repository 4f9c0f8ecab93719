-- Stores the labels of devices as the ledger has them, unless a confirmed entry has a higher revision, and removes
-- the notes that are no newer. The revision is the number that a value begins with; a value that begins otherwise
-- is replaced.
--
-- KEYS[i]  hash of one device, as in get-labels.lua
-- ARGV     for each key: its new labels, "<revision>;<labels>"; milliseconds to keep it; milliseconds: an entry
--          with more than that left is confirmed; number of labels of which notes may be removed, and of each the
--          key and the time up to which they are
-- Returns  0, without meaning

local names, at = namesOf(LABELS), 1
for _, key in ipairs(KEYS) do
  local value, count = ARGV[at], tonumber(ARGV[at + 3])
  local stored = readText(key, names)
  local known = stored and tonumber(string.match(stored, '^%d+'))
  local revision = tonumber(string.match(value, '^%d+'))
  if not known or known <= revision or redis.call('PTTL', key) <= tonumber(ARGV[at + 2]) then
    writeText(key, names, value, stored)
    redis.call('PEXPIRE', key, ARGV[at + 1])
  end
  at = at + 4
  local settled = {}
  for number = 1, count do
    settled[number] = ARGV[at + 2 * number - 2]
  end
  local notes = count > 0 and redis.call('HMGET', key, unpack(settled)) or {}
  for number, note in ipairs(notes) do
    local latest = tonumber(ARGV[at + 2 * number - 1])
    if note and isNote(settled[number]) and tonumber(string.match(note, '^%d+')) <= latest then
      redis.call('HDEL', key, settled[number])
    end
  end
  at = at + 2 * count
end
return 0
