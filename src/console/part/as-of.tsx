// Time at which the figures of a page were true, which turns amber when they are not renewed.

import { useEffect, useState } from 'preact/hooks';
import type { Loaded } from '../hook/use-load.ts';

const TICK_MS = 1000;
/** Polls that may be missed before the figures count as old. */
const MISSED_MAX = 2;
const CLOCK = new Intl.DateTimeFormat('en', { timeStyle: 'medium' });

/** Time of what is polled; nothing before the first answer. */
export function AsOf({ of }: { of: Pick<Loaded<unknown>, 'at' | 'everyMs'> }) {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), TICK_MS);
    return () => clearInterval(timer);
  }, []);
  const at = of.at();
  if (at === undefined) return null;
  const isOld = now - at > MISSED_MAX * of.everyMs + TICK_MS;
  return (
    <p class={isOld ? 'as-of old' : 'as-of'}>
      as of {CLOCK.format(at)}
      {isOld && ', and nothing newer since'}
    </p>
  );
}
