// What somebody may do in the row of `organizations` at hand, as parts of a statement whose $1 is the
// account: null is the operator, who is owner everywhere.

/** An organization that is not visible must be answered as one that does not exist. */
export const ROLE_OF = {
  join: `LEFT JOIN memberships ON memberships.organization_id = organizations.id
    AND memberships.account_id = $1::text`,
  isVisible: '($1::text IS NULL OR memberships.role IS NOT NULL)',
  role: `CASE WHEN $1::text IS NULL THEN 'owner' ELSE memberships.role END`,
} as const;
