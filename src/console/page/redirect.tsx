// Redirect from one path to another.

import { useEffect } from 'preact/hooks';
import { useLocation } from 'preact-iso';

/** Replaces the current history entry with another path. */
export function Redirect({ to }: { to: string }) {
  const { route } = useLocation();
  useEffect(() => route(to, true), [route, to]);
  return null;
}
