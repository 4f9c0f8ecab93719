-- Repository whose releases a webhook takes: that of its first delivery. Nodes of the version before take those of any.
ALTER TABLE webhooks ADD COLUMN repository_id bigint;
ALTER TABLE webhooks ADD COLUMN repository text;
-- Repository whose deliveries were turned away last, since the webhook got its secret, and when.
ALTER TABLE webhooks ADD COLUMN other_repository text;
ALTER TABLE webhooks ADD COLUMN other_repository_at timestamptz(3);
