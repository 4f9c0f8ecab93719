// Admin address of a node that was started with ADMIN_LISTEN.

/** Settings for an admin address on a free port. */
export const ADMIN_APART = { ADMIN_LISTEN: '127.0.0.1:0' };

/** Returns the admin address that a node has logged; throws when it has none. */
export function adminAddress(log: readonly Record<string, unknown>[]): { readonly url: string } {
  const port = log.find(({ msg }) => msg === 'listening')?.adminPort;
  if (port === undefined) throw new Error('the node listens on no admin address');
  return { url: `http://127.0.0.1:${port}` };
}

/** Parses the whole lines of a node's output that are JSON and contain a text; the last may be incomplete. */
export function logLines(output: string, text = ''): Record<string, unknown>[] {
  return output
    .split('\n')
    .slice(0, -1)
    .filter((line) => line.startsWith('{') && line.includes(text))
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}
