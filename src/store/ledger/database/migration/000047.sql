-- Link by which the recipient of mails who is no member confirms the address, or declines. Nodes of the version before
-- send nothing to an address that is not a member's.
ALTER TABLE notification_destinations ADD COLUMN link_hash text COLLATE "C" UNIQUE;
-- Address that the link was mailed to; a link to another than the present recipient is of no use.
ALTER TABLE notification_destinations ADD COLUMN link_to text;
ALTER TABLE notification_destinations ADD COLUMN link_expires_at timestamptz(3);
ALTER TABLE notification_destinations ADD COLUMN confirmed_to text;
ALTER TABLE notification_destinations ADD COLUMN declined_to text;
