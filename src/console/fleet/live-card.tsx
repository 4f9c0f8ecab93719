// Live activity: check-ins as they arrive, with a limited number of samples, updated twice a second at most.

import { useEffect, useRef, useState } from 'preact/hooks';
import type {
  ActivitySample,
  LiveActivity,
  LiveEndReason,
  LiveEvents,
} from '../../contract/console-fleet.ts';
import { API, noteSignedOut, presentSession, statusOf } from '../api/call.ts';
import { consolePath, queryText } from '../format/console-path.ts';
import { numberText, READER_HOURS } from '../format/figure-text.ts';
import { Badge } from '../part/badge.tsx';
import { Card } from '../part/card.tsx';
import { Name } from '../part/name.tsx';

const CLOCK = new Intl.DateTimeFormat('en', { timeStyle: 'medium', ...READER_HOURS });

/** Sentences for a feed that the service has refused or ended. */
const ENDINGS: Readonly<Partial<Record<Live['state'], string>>> = {
  'too-many':
    'Too many live feeds are open. Close other pages of the console; this one then goes on.',
  'no-access': 'You may no longer see this app.',
};

/** Card with the live activity; the reader can pause it to read a row. */
export function LiveCard({ app }: { app: string }) {
  const [isPaused, setPaused] = useState(false);
  const live = useLive(app, isPaused);
  return (
    <Card
      title="Live"
      isFlush
      aside={
        <span class="live-head line digits">
          <LiveState live={live} isPaused={isPaused} />
          <button
            type="button"
            class="button plain small"
            aria-pressed={isPaused}
            onClick={() => setPaused(!isPaused)}
          >
            {isPaused ? 'Resume feed' : 'Pause feed'}
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
  if (isPaused) return <Badge tone="warn">Paused</Badge>;
  if (ENDINGS[live.state] !== undefined) return <Badge tone="bad">Ended</Badge>;
  if (live.state === 'lost') return <Badge tone="bad">Reconnecting</Badge>;
  if (live.state === 'connecting') return <Badge>Connecting</Badge>;
  return <Badge tone="live">{numberText(live.rate)} a second</Badge>;
}

function LiveLine({ app, row }: { app: string; row: LiveRow }) {
  return (
    <li class="line small">
      <span class="muted live-time digits">{CLOCK.format(row.at)}</span>
      <a class="live-device cut" href={consolePath.device(app, row.deviceId)} title={row.deviceId}>
        <Name text={row.deviceId} isCode />
      </a>
      <span class="cut">
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

type LiveRow = ActivitySample & { readonly id: number };
type Live = {
  /** `too-many` and `no-access`: the service has refused or ended the feed. */
  readonly state: 'connecting' | 'open' | 'lost' | 'too-many' | 'no-access';
  /** Check-ins per second, averaged over four seconds. */
  readonly rate: number;
  /** Samples of check-ins, newest first. */
  readonly rows: readonly LiveRow[];
};

const ROWS_MAX = 20;
const RENDER_MS = 500;
const RETRY_MS = 5000;
const RATE_WINDOW_MS = 4000;

/** Receives events while the component is mounted; `isPaused` freezes the display. */
function useLive(app: string, isPaused: boolean): Live {
  const [live, setLive] = useState<Live>({ state: 'connecting', rate: 0, rows: [] });
  const feed = useRef<Feed>();
  useEffect(() => {
    const opened = new Feed(app);
    feed.current = opened;
    return () => opened.close();
  }, [app]);
  useEffect(() => {
    const timer = setInterval(() => {
      if (document.visibilityState === 'hidden' || isPaused) return;
      const news = feed.current?.take();
      if (news !== undefined) setLive((before) => merged(before, news));
    }, RENDER_MS);
    return () => clearInterval(timer);
  }, [isPaused]);
  return live;
}

function merged(before: Live, news: Live): Live {
  const isSame = news.rows.length === 0 && news.state === before.state && news.rate === before.rate;
  if (isSame) return before;
  return { ...news, rows: [...news.rows, ...before.rows].slice(0, ROWS_MAX) };
}

/** Reason for which the service refuses a feed, by status. */
const REFUSALS: Readonly<Record<number, LiveEndReason>> = {
  401: 'signed-out',
  403: 'no-access',
  404: 'no-access',
  429: 'too-many',
};

/** Event stream, and the events received since the last read. */
class Feed {
  private readonly path: string;
  private source: EventSource | undefined;
  private retry: ReturnType<typeof setTimeout> | undefined;
  private state: Live['state'] = 'connecting';
  private rows: LiveRow[] = [];
  private counts: { readonly at: number; readonly count: number }[] = [];
  private lastId = 0;
  /** Session in which the stream was opened. */
  private session = 0;
  private isClosed = false;

  constructor(app: string) {
    this.path = `live${queryText({ app })}`;
    this.open();
  }

  take(): Live {
    const rows = this.rows;
    this.rows = [];
    const from = Date.now() - RATE_WINDOW_MS;
    this.counts = this.counts.filter(({ at }) => at > from);
    const sum = this.counts.reduce((total, { count }) => total + count, 0);
    return { state: this.state, rate: Math.round((sum * 1000) / RATE_WINDOW_MS), rows };
  }

  close(): void {
    this.isClosed = true;
    clearTimeout(this.retry);
    this.source?.close();
  }

  private open(): void {
    this.session = presentSession();
    const source = new EventSource(`${API}${this.path}`);
    this.source = source;
    source.addEventListener('open', () => {
      this.state = 'open';
    });
    source.addEventListener('error', () => {
      this.state = 'lost';
      // The browser reconnects by itself, unless the service refused the stream.
      if (source.readyState === EventSource.CLOSED) void this.explain();
    });
    source.addEventListener('end', ({ data }: MessageEvent<string>) => {
      // Closed, because the browser would reconnect.
      source.close();
      this.end((JSON.parse(data) as LiveEvents['end']).reason);
    });
    source.addEventListener('check-ins', ({ data }: MessageEvent<string>) => {
      this.hear(JSON.parse(data) as LiveActivity);
    });
  }

  /** Requests the status of the refusal, which `EventSource` does not reveal. */
  private async explain(): Promise<void> {
    const status = await statusOf(this.path);
    this.end(REFUSALS[status]);
  }

  /** Ends the present stream; opens another one later, unless access is refused. */
  private end(reason: LiveEndReason | undefined): void {
    if (this.isClosed) return;
    // The page stays open below the dialog in which the reader signs in again.
    if (reason === 'signed-out') noteSignedOut(this.session);
    this.state = reason === undefined || reason === 'signed-out' ? 'lost' : reason;
    if (reason === 'no-access') return;
    this.retry = setTimeout(() => this.open(), RETRY_MS);
  }

  private hear({ count, samples }: LiveActivity): void {
    this.counts.push({ at: Date.now(), count });
    if (this.counts.length > 1000) this.counts.splice(0, 500);
    for (const sample of samples) {
      this.lastId += 1;
      this.rows.unshift({ ...sample, id: this.lastId });
    }
    this.rows.length = Math.min(this.rows.length, ROWS_MAX);
  }
}
