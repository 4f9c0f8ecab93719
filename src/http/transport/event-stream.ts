// Server-sent events: replies that stay open. While a client's socket accepts no more data, events for it are
// dropped, so that a slow client costs the service no memory.

import type { HttpResponse } from './http-app.ts';

/** Accepts the events of a stream; `Events` has the data of each event by its name. Data is sent as JSON. */
type EventSink<Events = Readonly<Record<string, unknown>>> = {
  send<Name extends keyof Events & string>(event: Name, data: Events[Name]): void;
  /** Sends a last event and ends the reply. Stops the source; its later events are dropped. */
  end<Name extends keyof Events & string>(event: Name, data: Events[Name]): void;
};

/** Begins to send events to the sink. Returns a function that stops the source, to be called once. */
export type EventSource<Events = Readonly<Record<string, unknown>>> = (
  sink: EventSink<Events>,
) => () => void;

const KEEP_ALIVE_MS = 10_000;

/**
 * Writes the head of the reply, then the events of the source as they come, until the source ends the stream.
 * Must run corked. Returns a function that stops the source, to be called when the client has disconnected.
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
  // Set once the source has returned; the source may end the stream before that.
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
      // Not with `closesConnection`: uWebSockets.js would write that header into the body.
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
