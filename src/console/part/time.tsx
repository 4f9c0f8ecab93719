// Time: relative as text, exact in the tooltip.

import { exactTimeText, timeText } from '../format/time-text.ts';
import { useNow } from '../hook/use-now.ts';

/** Displays `at` (RFC 3339); `never`, or nothing, when there is no time. */
export function Time({ at, never = '–' }: { at: string | null | undefined; never?: string }) {
  const now = useNow();
  if (at === null || at === undefined) return <span class="muted">{never}</span>;
  const moment = new Date(at);
  if (Number.isNaN(moment.getTime())) return <span>{at}</span>;
  return (
    <time dateTime={at} title={exactTimeText(moment)}>
      {timeText(moment, now)}
    </time>
  );
}
