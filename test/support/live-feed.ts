// Opens the live feed of an app as a page of the console does, and reads its events.

import type { Person } from './person.ts';

export type Feed = {
  /** Events so far, each with its name and its parsed data. */
  readonly events: readonly { readonly name: string; readonly data: unknown }[];
  /** Resolves when the service has ended the response, or the reader has left. */
  readonly over: Promise<void>;
  leave(): Promise<void>;
};

/** Opens a feed; returns the status when that is not 200. */
export async function openFeed(
  person: Pick<Person, 'node' | 'token'>,
  app: string,
): Promise<Feed | number> {
  const leaving = new AbortController();
  const response = await fetch(`${person.node.url}/console/api/live?app=${app}`, {
    headers: { cookie: `sluice_session=${person.token}` },
    signal: leaving.signal,
  });
  if (response.status !== 200) {
    await response.text();
    return response.status;
  }
  const events: { name: string; data: unknown }[] = [];
  const over = readEvents(response, events);
  return {
    events,
    over,
    async leave() {
      leaving.abort();
      await over;
    },
  };
}

async function readEvents(
  response: Response,
  events: { name: string; data: unknown }[],
): Promise<void> {
  const decoder = new TextDecoder();
  let text = '';
  try {
    for await (const chunk of response.body ?? []) {
      text += decoder.decode(chunk as Uint8Array, { stream: true });
      const blocks = text.split('\n\n');
      text = blocks.pop() ?? '';
      for (const block of blocks) {
        const [, name = '', data = ''] = /^event: (.*)\ndata: (.*)$/.exec(block) ?? [];
        if (name !== '') events.push({ name, data: JSON.parse(data) });
      }
    }
  } catch {
    // The reader has left, or the node ended.
  }
}
