// Number of calls that wait for an approval, in the navigation of every page.

import { useEffect, useRef } from 'preact/hooks';
import { consolePath, queryText } from '../format/console-path.ts';
import { useLoad } from '../hook/use-load.ts';
import { useOrganization } from '../session/use-session.ts';

/** Milliseconds between two reads on the pages of approvals. */
export const APPROVALS_MS = 4000;
const COUNT_MS = 30_000;

/** Number of calls that wait: loaded again on each page, and on pages of approvals every 4 seconds. */
export function WaitingCount({ path }: { path: string }) {
  const { id: org } = useOrganization();
  const everyMs = path.startsWith(consolePath.approvals) ? APPROVALS_MS : COUNT_MS;
  const { data, reload } = useLoad(`approvals${queryText({ org, status: 'pending' })}`, everyMs);
  const readOn = useRef(path);
  useEffect(() => {
    if (readOn.current !== path) void reload();
    readOn.current = path;
  }, [path, reload]);
  const { approvals = [], next = null } = data ?? {};
  if (approvals.length === 0) return null;
  return (
    <>
      {' '}
      <span class="nav-count digits">
        {approvals.length}
        {next !== null && '+'}
        <span class="unseen"> waiting</span>
      </span>
    </>
  );
}
