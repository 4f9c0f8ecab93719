// The live feed of an app's check-ins. However many come, what is kept is bounded, and the page is told twice
// a second at most.

import { useEffect, useRef, useState } from 'preact/hooks';
import type { LiveActivity, LiveSample } from '../api/resource.ts';
import { queryText } from '../format/query-text.ts';

export type LiveRow = LiveSample & { readonly id: number };
export type Live = {
  readonly state: 'connecting' | 'open' | 'lost';
  /** Check-ins a second, over the last few. */
  readonly rate: number;
  /** Newest first. */
  readonly rows: readonly LiveRow[];
};

const ROWS_MAX = 20;
const RENDER_MS = 500;
const RETRY_MS = 5000;
const RATE_WINDOW_MS = 4000;

/** Listens while the component is there; shows what it heard unless paused. */
export function useLive(app: string, isPaused: boolean): Live {
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

/** The connection, and what came through it since it was last asked. */
class Feed {
  private readonly address: string;
  private source: EventSource | undefined;
  private retry: ReturnType<typeof setTimeout> | undefined;
  private state: Live['state'] = 'connecting';
  private rows: LiveRow[] = [];
  private counts: { readonly at: number; readonly count: number }[] = [];
  private lastId = 0;

  constructor(app: string) {
    this.address = `/console/api/live${queryText({ app })}`;
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
    clearTimeout(this.retry);
    this.source?.close();
  }

  private open(): void {
    const source = new EventSource(this.address);
    this.source = source;
    source.addEventListener('open', () => {
      this.state = 'open';
    });
    source.addEventListener('error', () => {
      this.state = 'lost';
      // The browser tries again by itself, unless the service refused.
      if (source.readyState !== EventSource.CLOSED) return;
      this.retry = setTimeout(() => this.open(), RETRY_MS);
    });
    source.addEventListener('check-ins', ({ data }: MessageEvent<string>) => {
      this.hear(JSON.parse(data) as LiveActivity);
    });
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
