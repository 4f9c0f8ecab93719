-- A record that `sluice move` brought into this database carries the id of that move, which the directory that it came
-- from has as well. Null where it was never moved.
ALTER TABLE ledger_epoch ADD COLUMN move text;
