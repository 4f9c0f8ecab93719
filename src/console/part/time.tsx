// A moment: how long ago to read, exactly when to hover.

import { exactTimeText, timeText } from '../format/time-text.ts';
import { useNow } from '../hook/use-now.ts';

/** `at` is RFC 3339; nothing, or what `never` says, where there is no time. */
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
