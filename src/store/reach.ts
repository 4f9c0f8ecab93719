// Apps that a caller may name.

/**
 * Apps that a caller may name: all of an organization, which is its id, or some of them. Every other app is
 * unknown to it.
 */
export type Reach = string | NarrowReach;

type NarrowReach = { readonly organizationId: string; readonly appIds: readonly string[] };

/**
 * Returns the organization of a reach and the ids of its apps, null for all of them: values of a statement.
 */
export function reachValues(
  reach: Reach,
): [organizationId: string, appIds: readonly string[] | null] {
  if (typeof reach === 'string') return [reach, null];
  return [reach.organizationId, reach.appIds];
}
