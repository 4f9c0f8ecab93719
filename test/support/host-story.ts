// Stories of a code host: events about its releases, and what became of them, written in a line each. They
// run on the code that receives an event, over a ledger in memory (host-ledger.ts).

import { expect, it } from 'vitest';
import { fail, isFailure } from '../../src/contract/failure.ts';
import { type ReleaseEvent, receiveRelease } from '../../src/publishing/receive-release.ts';
import type { LoadedChannels } from '../../src/publishing/standing-findings.ts';
import type { OpenWebhook } from '../../src/publishing/webhooks.ts';
import { HostLedger } from './host-ledger.ts';

export type Told = {
  /** Outcome of each event, with its reason. */
  readonly answers: readonly string[];
  readonly end: string;
  readonly host: HostLedger;
};

type Setting = {
  readonly webhook?: Partial<OpenWebhook>;
  readonly host?: HostLedger;
  readonly catalogs?: LoadedChannels;
  /** Notes by the word for them. */
  readonly notes?: Readonly<Record<string, string>>;
};

const WEBHOOK: OpenWebhook = {
  ...{ appId: 'app', provider: 'github', appRef: 'notes', organizationId: 'org' },
  ...{ enabledAt: '', secret: '', tagPrefix: null, hold: false, expect: null, repository: null },
};
/** Names of files, by what stories call them. */
const FILES: Readonly<Record<string, string>> = {
  ...{ linux: 'notes-linux-amd64', mac: 'notes-darwin-arm64.zip', windows: 'notes_x64.msi' },
  ...{ sum: 'SHA256SUMS' },
};
/** Words of a step behind its action; those with a value have it behind a colon. */
const WORDS: ReadonlySet<string> = new Set([
  ...['gitea', 'tag', 'from', 'id', 'at', 'published', 'draft', 'beta', 'private', 'repository'],
  ...['notes', 'files', 'size', 'uploaded', 'uploading', 'again'],
]);

/** What happens beside events. */
const DEEDS: Readonly<Record<string, (host: HostLedger) => void>> = {
  offer: (host) => host.offer(),
  pause: (host) => serve(host, 'paused'),
  publish: (host) => serve(host, 'published'),
  'roll-back': (host) => serve(host, 'rolled_back'),
  /** A key publishes 1.0.0, without files. */
  'by-key': (host) => {
    const unknown = { provider: null, id: null, tag: null, changedAt: null };
    host.channels.get('stable')?.set('1.0.0', {
      ...{ version: '1.0.0', isAnnounced: false, offered: false, status: 'published', hold: null },
      ...{ isRetracted: false, notes: 'of-a-key', artifacts: [] },
      host: { ...unknown, publishedAt: null, filesTo: null },
    });
  },
};

/** Sets the status as a person does: what is held waits for a person from then on. */
function serve(host: HostLedger, status: 'paused' | 'published' | 'rolled_back'): void {
  host.change(({ hold }) => {
    const isHeld = hold !== null && status !== 'published';
    return { status, isRetracted: false, hold: isHeld ? 'by-hand' : null };
  });
}

/**
 * Runs stories, each as a test: `title | steps | answers | end`, on a line and those that begin with `|` or
 * `>`. Steps, as `readStep` reads them, have ` > ` between them, and so have the last answers. The end is the
 * releases, such as `published: linux, beta 2.0.0 paused: linux mac`, where the first is 1.0.0 on stable.
 */
export function tellStories(stories: string, webhook?: Partial<OpenWebhook>): void {
  const rows = stories.trim().split(/\n(?! *[|>])/);
  const parts = rows.map((row) =>
    row
      .replace(/\n */g, ' ')
      .split('|')
      .map((part) => part.trim()),
  );
  it.each(parts)('%s', async (_title, steps = '', expected = '', end) => {
    const told = await tell(steps, webhook === undefined ? {} : { webhook });
    const last = expected.split(' > ');
    expect([told.answers.slice(-last.length), told.end]).toEqual([last, end]);
  });
}

/** Runs the steps of a story. */
export async function tell(steps: string, setting: Setting = {}): Promise<Told> {
  const host = setting.host ?? new HostLedger(() => dayOf('3'));
  const catalogs = setting.catalogs ?? { findForCaller: async () => fail('unavailable') };
  const dependencies = { ledger: host.port, propagate: async () => undefined, catalogs };
  const answers: string[] = [];
  for (const step of steps.split(' > ')) {
    const deed = DEEDS[step];
    if (deed !== undefined) {
      deed(host);
      continue;
    }
    const provider = step.includes(' gitea') ? 'gitea' : 'github';
    const webhook = { ...WEBHOOK, provider, ...setting.webhook } as const;
    const received = await receiveRelease(dependencies, webhook, readStep(step, setting.notes));
    if (isFailure(received)) throw new Error(received.message);
    answers.push([received.outcome, received.reason].filter(Boolean).join(': '));
  }
  return { answers, end: endOf(host), host };
}

/**
 * Reads an event: its action, and words that differ from an event about the release 101 of the tag v1.0.0,
 * published on the first day, with a file for Linux. Days are those of a month.
 */
function readStep(step: string, notesOf: Setting['notes'] = {}): ReleaseEvent {
  const [action = '', ...words] = step.split(' ');
  const said = new Map(words.map((word) => [...word.split(/:(.*)/), ''] as [string, string]));
  const unknown = [...said.keys()].filter((word) => !WORDS.has(word));
  if (unknown.length > 0 || !/^[a-z]+ed$/.test(action)) throw new Error(`cannot read: ${step}`);
  const day = (word: string, usual = '') => {
    const number = said.get(word) ?? usual;
    return number === '' ? undefined : new Date(dayOf(number)).toISOString();
  };
  const names = (said.get('files') ?? 'linux').split('+').filter((name) => name !== '');
  const notes = said.get('notes') ?? '';
  const [name = '', id] = said.get('repository')?.split('#') ?? [];
  return {
    ...{ action, tag: said.get('tag') ?? 'v1.0.0', formerTag: said.get('from') },
    ...{ id: Number(said.get('id') ?? 101), changedAt: day('at') },
    ...{ publishedAt: day('published', '1'), isPrivate: said.has('private') },
    ...{ isDraft: said.has('draft'), isPrerelease: said.has('beta') },
    repository: name === '' ? undefined : { name, id: id === undefined ? null : Number(id) },
    notes: notesOf[notes] ?? notes,
    assets: names.map((short) => ({
      ...{ name: FILES[short] ?? short, url: urlOf(short, said.has('again')), digest: undefined },
      ...{ size: said.has('size') ? Number(said.get('size')) : undefined },
      ...{ isUploaded: !said.has('uploading'), createdAt: day('uploaded') },
    })),
  };
}

function urlOf(short: string, isAgain: boolean): string {
  return `https://host.example.com/${isAgain ? 'again/' : ''}${FILES[short] ?? short}`;
}

function dayOf(number: string): number {
  return Date.UTC(2026, 1, Number(number));
}

/** Lists the releases, each with its files and notes; a file that has a size is told by that. */
function endOf({ channels }: HostLedger): string {
  const all = [...channels].flatMap(([channel, releases]) =>
    [...releases.values()].map(({ version, status, artifacts, notes }) => {
      const files = artifacts.map(({ url = '', size }) => size ?? shortName(url));
      const words = notes === '' ? [] : [`"${notes}"`];
      const place = `${channel} ${version} `.replace('stable 1.0.0 ', '');
      return [`${place}${status}:`, ...files, ...words].join(' ');
    }),
  );
  return all.join(', ');
}

function shortName(url: string): string | undefined {
  const name = url.split('/').at(-1);
  const short = Object.keys(FILES).find((each) => FILES[each] === name) ?? name;
  return url.includes('/again/') ? `${short}-again` : short;
}
