// Server-sent events: an answer that goes on. A reader that does not keep up loses events, not the service
// its memory: what the socket does not take is not kept.

import type { HttpResponse } from 'uWebSockets.js';

/** Sends one event; `data` becomes JSON. */
export type EventSink = (event: string, data: unknown) => void;

/** Begins to send events into the sink; what it returns ends that, and is called once. */
export type EventSource = (sink: EventSink) => () => void;

const KEEP_ALIVE_MS = 10_000;

/** Writes the head and goes on until the reader leaves. Must run corked. Returns what to call then. */
export function writeEventStream(res: HttpResponse, source: EventSource): () => void {
  let isOpen = true;
  let isBehind = false;
  const write = (text: string): void => {
    if (!isOpen || isBehind) return;
    res.cork(() => {
      isBehind = !res.write(text);
    });
  };
  res.onWritable(() => {
    isBehind = false;
    return true;
  });
  res.writeStatus('200 OK');
  res.writeHeader('Content-Type', 'text/event-stream');
  res.writeHeader('Cache-Control', 'no-store');
  res.write(': open\n\n');
  const stop = source((event, data) => {
    write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
  });
  const timer = setInterval(() => write(': alive\n\n'), KEEP_ALIVE_MS);
  return () => {
    isOpen = false;
    clearInterval(timer);
    stop();
  };
}
