-- The functions that record check-ins lose defaults of arguments that every node gives. PostgreSQL takes a default
-- away from no function that is there, so both go, and are made anew with this migration (function/).

DROP FUNCTION IF EXISTS record_checks(
  text[], text[], text[], text[], text[], text[], text[], bigint[], text[], text[], boolean, text[], text[],
  integer, integer, integer, text[], text[], integer, integer, text, text[]
);
DROP FUNCTION IF EXISTS record_check_ins(
  text[], text[], text[], text[], text[], text[], text[], bigint[], text[], text[], boolean, text[], text[],
  integer, integer, text, text[]
);
