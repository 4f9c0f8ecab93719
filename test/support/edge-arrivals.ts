// What of a service's changes has arrived at an edge of it, told from what the two say to each other
// (edge-front.ts): the index that the edge was given last, the snapshots that it is reading, and the
// changes of labels that it has read.

import { eventually } from './eventually.ts';

export type EdgeArrivalsDependencies = {
  /** Returns the revisions of an app's channels that the service serves, by channel. */
  readonly revisions: (app: string) => Promise<readonly ServedRevision[]>;
  /** Has the edge answer something, so that it has done what it was about to do. */
  readonly turn: () => Promise<void>;
};

export type ServedRevision = {
  readonly channelId: string;
  readonly channel: string;
  readonly revision: number;
};

/** Change of an app that the edge may not have. */
type Change = {
  /** Channels that the service must know first. */
  readonly channels: readonly string[];
  /** Place of a report of labels among the calls for changes of labels; undefined when it was none. */
  readonly labelsAt: number | undefined;
  arrival: Promise<void> | undefined;
};

/** Turns of the edge after its last read of a snapshot, which it then takes apart. */
const TURNS = 3;
/**
 * Reads of changed labels after a report: two parts of an edge read them, each twice, because a change is
 * not told while a writer that began before it goes on.
 */
const LABEL_READS = 4;

export class EdgeArrivals {
  private readonly dependencies: EdgeArrivalsDependencies;
  private readonly changes = new Map<string, Change>();
  /** Revisions in the index that the edge has. */
  private held = new Map<string, number>();
  private reading = 0;
  private keepsLabels = false;
  /** Number of calls for changes of labels that have begun. */
  private labelCalls = 0;
  /** Places of the calls for changes of labels that have read all of them, of late. */
  private labelReads: readonly number[] = [];

  constructor(dependencies: EdgeArrivalsDependencies) {
    this.dependencies = dependencies;
  }

  /**
   * Notes a call of the edge at its service; returns what is to be called with the answer, or without
   * one.
   */
  begin(endpoint: string, below: string): (answer?: string) => void {
    if (endpoint === 'index') return (answer = '') => this.holds(answer);
    if (endpoint === 'labels' || below === 'awaited') this.keepsLabels = true;
    if (endpoint === 'label-changes') {
      const place = ++this.labelCalls;
      return (answer = '') => this.readLabels(place, answer);
    }
    if (endpoint !== 'snapshot' && endpoint !== 'releases') return () => undefined;
    this.reading += 1;
    let isOver = false;
    return () => {
      if (!isOver) this.reading -= 1;
      isOver = true;
    };
  }

  /** Notes a write that the service has done: its path, and the body that was sent. */
  changed(path: string, body: string): void {
    const [, first, , inPath = ''] = path.split(/[/?]/);
    const { app, ref, name } = fieldsOf(body);
    const changed = first === 'wh' ? inPath : (app ?? ref);
    if (changed === undefined) return;
    const isChannel = path.endsWith('/channels') && name !== undefined;
    const before = this.changes.get(changed);
    this.changes.set(changed, {
      channels: [...(before?.channels ?? []), ...(isChannel ? [name] : [])],
      labelsAt: path.includes('/fleet/report') ? this.labelCalls : before?.labelsAt,
      arrival: undefined,
    });
  }

  /** Resolves once the edge serves what was changed of an app, or of any that may be the same. */
  async caughtUp(app: string): Promise<void> {
    // An app has an id and a ref, and the write may have named the other one.
    const isId = (text: string) => text.startsWith('app_');
    const names = [...this.changes.keys()].filter(
      (name) => name === app || isId(name) !== isId(app),
    );
    await Promise.all(names.map((name) => this.arrived(name)));
  }

  private arrived(name: string): Promise<void> | undefined {
    const change = this.changes.get(name);
    if (change === undefined) return undefined;
    change.arrival ??= this.follow(name, change).then(() => {
      if (this.changes.get(name) === change) this.changes.delete(name);
    });
    return change.arrival;
  }

  private async follow(app: string, { channels, labelsAt }: Change): Promise<void> {
    let served: readonly ServedRevision[] = [];
    await eventually(`the service tells edges of ${app}`, async () => {
      served = await this.dependencies.revisions(app);
      const known = served.map(({ channel }) => channel);
      return known.length > 0 && channels.every((channel) => known.includes(channel));
    });
    await eventually(`the edge hears of ${app}`, () =>
      served.every(({ channelId, revision }) => (this.held.get(channelId) ?? -1) >= revision),
    );
    await eventually('the edge has read labels', () => {
      if (labelsAt === undefined || !this.keepsLabels) return true;
      return this.labelReads.filter((place) => place > labelsAt).length >= LABEL_READS;
    });
    for (let turn = 0; turn < TURNS; turn = this.reading === 0 ? turn + 1 : 0) {
      await this.dependencies.turn();
    }
  }

  private holds(answer: string): void {
    if (answer === '') return;
    const { channels } = JSON.parse(answer) as { channels?: readonly (readonly unknown[])[] };
    if (channels === undefined) return;
    this.held = new Map(channels.map((entry) => [String(entry[2]), Number(entry[4])]));
  }

  private readLabels(place: number, answer: string): void {
    if (answer === '') return;
    const { newest = 1, through = 0 } = JSON.parse(answer) as { newest?: number; through?: number };
    if (through >= newest) this.labelReads = [...this.labelReads, place].slice(-LABEL_READS);
  }
}

function fieldsOf(body: string): { app?: string; ref?: string; name?: string } {
  try {
    return JSON.parse(body) as { app?: string; ref?: string; name?: string };
  } catch {
    return {};
  }
}
