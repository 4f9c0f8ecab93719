// Page for an unknown address, and redirection to another one.

import { useEffect } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { consolePath } from '../format/console-path.ts';
import { useTitle } from '../part/page-head.tsx';
import { useSession } from '../session/use-session.ts';

/** Page that says that `what` was not found. */
export function NotFoundPage({ what = 'This page' }: { what?: string }) {
  const { refresh } = useSession();
  useTitle('Not found');
  // The page may be missing because the reader is no longer a member.
  useEffect(() => void refresh(), [refresh]);
  return (
    <div class="empty">
      <h1 class="empty-title" tabIndex={-1}>
        {what}: not found, or you have no access
      </h1>
      <p class="hint">It may have been in another organization, or the link was cut off.</p>
      <a class="button plain" href={consolePath.apps}>
        All apps
      </a>
    </div>
  );
}

/** Replaces the current history entry with another path. */
export function Redirect({ to }: { to: string }) {
  const { route } = useLocation();
  useEffect(() => route(to, true), [route, to]);
  return null;
}
