// Time: relative as text, exact in the tooltip.

import { exactTimeText, timeText, zonedTimeText } from '../format/figure-text.ts';
import { useNow } from '../hook/use-now.ts';

/**
 * Displays `at` (RFC 3339); `never`, or nothing, when there is no time. `isZoned` also says the time of day
 * and its zone, where it matters when something happened.
 */
export function Time(props: { at: string | null | undefined; never?: string; isZoned?: boolean }) {
  const { at, never = '–', isZoned = false } = props;
  const now = useNow();
  if (at === null || at === undefined) return <span class="muted">{never}</span>;
  const moment = new Date(at);
  if (Number.isNaN(moment.getTime())) return <span>{at}</span>;
  return (
    <time dateTime={at} title={exactTimeText(moment)} class={isZoned ? 'zoned' : undefined}>
      {isZoned ? zonedTimeText(moment, now) : timeText(moment, now)}
    </time>
  );
}
