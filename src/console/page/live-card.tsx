// Live activity: check-ins as they arrive.

import { useState } from 'preact/hooks';
import { consolePath } from '../format/console-path.ts';
import { numberText } from '../format/figure-text.ts';
import { type Live, type LiveRow, useLive } from '../hook/use-live.ts';
import { Badge } from '../part/badge.tsx';
import { Card } from '../part/card.tsx';
import { Name } from '../part/name.tsx';

const CLOCK = new Intl.DateTimeFormat('en', { timeStyle: 'medium' });

/** Explanations of feeds that the service has refused or ended. */
const ENDINGS: Readonly<Partial<Record<Live['state'], string>>> = {
  'too-many':
    'Too many live feeds are open. Close other pages of the console; this one then goes on.',
  'no-access': 'You may no longer see this app.',
};

/** Card with the live activity; it can be paused to read a row. */
export function LiveCard({ app }: { app: string }) {
  const [isPaused, setPaused] = useState(false);
  const live = useLive(app, isPaused);
  return (
    <Card
      title="Live"
      isFlush
      aside={
        <span class="live-head">
          <LiveState live={live} isPaused={isPaused} />
          <button
            type="button"
            class="button plain small"
            aria-pressed={isPaused}
            onClick={() => setPaused(!isPaused)}
          >
            {isPaused ? 'Resume feed' : 'Hold feed'}
          </button>
        </span>
      }
    >
      <div class="live-rows">
        {ENDINGS[live.state] !== undefined && <p class="hint padded">{ENDINGS[live.state]}</p>}
        {live.rows.length === 0 ? (
          ENDINGS[live.state] === undefined && (
            <p class="hint padded">Waiting for a device to check in …</p>
          )
        ) : (
          <ul class="live" aria-label="Latest check-ins">
            {live.rows.map((row) => (
              <LiveLine key={row.id} app={app} row={row} />
            ))}
          </ul>
        )}
      </div>
    </Card>
  );
}

function LiveState({ live, isPaused }: { live: Live; isPaused: boolean }) {
  if (isPaused) return <Badge tone="warn">Held</Badge>;
  if (ENDINGS[live.state] !== undefined) return <Badge tone="bad">Ended</Badge>;
  if (live.state === 'lost') return <Badge tone="bad">Reconnecting</Badge>;
  if (live.state === 'connecting') return <Badge>Connecting</Badge>;
  return <Badge tone="live">{numberText(live.rate)} a second</Badge>;
}

function LiveLine({ app, row }: { app: string; row: LiveRow }) {
  return (
    <li>
      <span class="muted live-time">{CLOCK.format(row.at)}</span>
      <a class="live-device" href={consolePath.device(app, row.deviceId)}>
        <Name text={row.deviceId} isCode />
      </a>
      <span class="live-facts">
        <span class="code">{row.version ?? '?'}</span>{' '}
        <span class="muted">
          {row.platform} · {row.channel}
          {row.source === 'push' ? ' · reported' : ''}
        </span>
      </span>
      {row.isOffered && <Badge tone="good">offered</Badge>}
    </li>
  );
}
