// Calls whose work the service does in parts, each of a bounded size.

import type { ServiceClient } from './service-client.ts';

/**
 * Calls until the service says that nothing is left, each time with where the part before has ended. Rejects
 * where it does not get on.
 */
export async function callInParts<Part extends { readonly next: string | null }>(
  client: ServiceClient,
  path: string,
  body: object,
  add: (part: Part) => void,
): Promise<void> {
  for (let after: string | undefined; ; ) {
    const part = (await client.call('POST', path, { ...body, after })) as Part;
    add(part);
    const { next } = part;
    if (next === null) return;
    if (typeof next !== 'string' || next === after) throw new TypeError('next does not get on');
    after = next;
  }
}
