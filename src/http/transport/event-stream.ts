// Server-sent events: replies that stay open. Events that a client's socket does not take are dropped, so
// that a slow client costs the service no memory.

import type { HttpResponse } from './http-app.ts';

/** Takes the events of a stream: their data, by their names, which become JSON. */
type EventSink<Events = Readonly<Record<string, unknown>>> = {
  send<Name extends keyof Events & string>(event: Name, data: Events[Name]): void;
  /** Sends a last event and ends the reply; the source is told to stop, and later events are dropped. */
  end<Name extends keyof Events & string>(event: Name, data: Events[Name]): void;
};

/** Begins to send events into the sink. Returns a function that ends this, to be called once. */
export type EventSource<Events = Readonly<Record<string, unknown>>> = (
  sink: EventSink<Events>,
) => () => void;

const KEEP_ALIVE_MS = 10_000;

/**
 * Writes the head of the reply, then the events of the source as they come, until the source ends the stream.
 * Must run corked. Returns a function that ends the stream, to be called when the client has left.
 */
export function writeEventStream(
  res: HttpResponse,
  source: EventSource,
  headers: readonly (readonly [name: string, value: string])[] = [],
): () => void {
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
  for (const [name, value] of headers) res.writeHeader(name, value);
  res.write(': open\n\n');
  // Known once the source has begun, which may end the stream at once.
  let stop: (() => void) | undefined;
  const timer = setInterval(() => write(': alive\n\n'), KEEP_ALIVE_MS);
  const close = (): void => {
    if (!isOpen) return;
    isOpen = false;
    clearInterval(timer);
    stop?.();
  };
  const begun = source({
    send: (event, data) => write(textOf(event, data)),
    end(event, data) {
      if (!isOpen) return;
      close();
      // Not as the connection's last reply: uWebSockets.js would write that header into the body.
      res.cork(() => res.end(textOf(event, data)));
    },
  });
  if (isOpen) stop = begun;
  else begun();
  return close;
}

function textOf(event: string, data: unknown): string {
  return `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
}
