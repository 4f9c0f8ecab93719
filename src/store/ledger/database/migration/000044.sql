-- How often devices of an app were named by an id that many share by mistake, such as `undefined`. Nodes of the version
-- before take such an id for one device, and count nothing.
CREATE TABLE mistaken_ids (
  app_id text COLLATE "C" NOT NULL REFERENCES apps (id),
  kind text COLLATE "C" NOT NULL,
  requests bigint NOT NULL,
  first_at timestamptz(3) NOT NULL,
  last_at timestamptz(3) NOT NULL,
  PRIMARY KEY (app_id, kind)
);
