// Admin address of a node that was started with ADMIN_LISTEN.

/** Settings for an admin address on a free port. */
export const ADMIN_APART = { ADMIN_LISTEN: '127.0.0.1:0' };

/** Returns the admin address that a node has logged; throws when it has none. */
export function adminAddress(log: readonly Record<string, unknown>[]): { readonly url: string } {
  const port = log.find(({ msg }) => msg === 'listening')?.adminPort;
  if (port === undefined) throw new Error('the node listens on no admin address');
  return { url: `http://127.0.0.1:${port}` };
}

/** Parses the lines of a node's output that are JSON. */
export function logLines(output: string): Record<string, unknown>[] {
  return output
    .split('\n')
    .filter((line) => line.startsWith('{') && line.endsWith('}'))
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}
