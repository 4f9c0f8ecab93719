-- Up to which time each region has recorded its check-ins. A region is what shares a Redis; a step of a plan waits for
-- all of them. Nodes of the version before write no mark, and wait for their own region alone.
CREATE TABLE region_marks (
  region text COLLATE "C" PRIMARY KEY,
  -- Counted time (plan_clock) up to which all check-ins of the region are recorded.
  recorded_ms bigint NOT NULL,
  noted_at timestamptz(3) NOT NULL
) WITH (fillfactor = 50);
