// An address that stands for another.

import { useEffect } from 'preact/hooks';
import { useLocation } from 'preact-iso';

/** Goes there without leaving a step to come back to. */
export function Redirect({ to }: { to: string }) {
  const { route } = useLocation();
  useEffect(() => route(to, true), [route, to]);
  return null;
}
