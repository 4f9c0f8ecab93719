// Server-sent events: replies that stay open. Events that a client's socket does not take are dropped, so
// that a slow client costs the service no memory.

import type { HttpResponse } from 'uWebSockets.js';

/** Sends one event; `data` becomes JSON. */
type EventSink<Data = unknown> = (event: string, data: Data) => void;

/** Begins to send events into the sink. Returns a function that ends this, to be called once. */
export type EventSource<Data = unknown> = (sink: EventSink<Data>) => () => void;

const KEEP_ALIVE_MS = 10_000;

/**
 * Writes the head of the reply, then the events of the source as they come. Must run corked. Returns a
 * function that ends the stream, to be called when the client has left.
 */
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
