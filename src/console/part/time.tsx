// Times: relative as text, exact in the tooltip, updated by one timer; and the age of a page's data.

import { useEffect, useState } from 'preact/hooks';
import { exactTimeText, READER_HOURS, timeText, zonedTimeText } from '../format/figure-text.ts';
import type { Loaded } from '../hook/use-load.ts';
import { None } from './name.tsx';

/**
 * Shows `at` (RFC 3339); if there is no time, `never`, or a dash by default. `isZoned` adds the time of day
 * and its zone.
 */
export function Time(props: { at: string | null | undefined; never?: string; isZoned?: boolean }) {
  const { at, never, isZoned = false } = props;
  const now = useNow();
  if (at === null || at === undefined) {
    return never === undefined ? <None /> : <span class="muted">{never}</span>;
  }
  const moment = new Date(at);
  if (Number.isNaN(moment.getTime())) return <span>{at}</span>;
  return (
    <time dateTime={at} title={exactTimeText(moment)} class={isZoned ? 'zoned' : undefined}>
      {isZoned ? zonedTimeText(moment, now) : timeText(moment, now)}
    </time>
  );
}

const INTERVAL_MS = 20_000;
const listeners = new Set<(nowMs: number) => void>();
let timer: ReturnType<typeof setInterval> | undefined;

/** Returns the present time in milliseconds since 1970, updated three times a minute. */
export function useNow(): number {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    listeners.add(setNow);
    timer ??= setInterval(() => {
      for (const listener of listeners) listener(Date.now());
    }, INTERVAL_MS);
    return () => {
      listeners.delete(setNow);
      if (listeners.size > 0) return;
      clearInterval(timer);
      timer = undefined;
    };
  }, []);
  return now;
}

const TICK_MS = 1000;
/** Number of missed polls before data counts as old. */
const MISSED_MAX = 2;
const CLOCK = new Intl.DateTimeFormat('en', { timeStyle: 'medium', ...READER_HOURS });

/** Time at which polled data was last confirmed, highlighted when old; nothing before the first answer. */
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
    <p class={isOld ? 'as-of old hint digits' : 'as-of hint digits'}>
      as of {CLOCK.format(at)}
      {isOld && ', and nothing newer since'}
    </p>
  );
}
