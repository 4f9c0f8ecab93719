// Ledger in memory, which a build that is measured opens in place of its own: serves fixed snapshots, takes
// every check-in and remembers the labels that it carried. Every call answers in the same turn.

import { fixedSnapshots } from './fixed-snapshots.ts';

type Device = { readonly appId: string; readonly deviceId: string };
type CheckIn = Device & {
  readonly at: number;
  readonly labels?: ReadonlyMap<string, string> | undefined;
};

const NO_LABELS: ReadonlyMap<string, string> = new Map();
const STARTED_AT = Date.now();

/** Calls of the background work, and what a ledger without plans, webhooks and messages answers. */
const AT_REST: Readonly<Record<string, unknown>> = {
  ...{ confirm: undefined, isReachable: true, tryWrite: undefined, close: undefined },
  ...{ listPlansToDrive: [], countPlans: {}, listRegions: [], noteRegion: undefined },
  ...{ beginPlanTurn: { countedMs: 0, isMarkWanted: false }, countPlanTime: { countedMs: 0 } },
  ...{ leaseDestinations: [], leaseMails: [], dropOldMessages: 0 },
  ...{ countWaitingMessages: { count: 0, oldestMs: 0 }, sweepFleet: {}, trimHistories: 0 },
  ...{ forgetAdmissions: 0, forgetIdempotencyKeys: 0, sweepApprovals: [], forgetErasures: 0 },
  ...{ forgetAudit: 0, recordMistakenIds: undefined, recordKeyUses: undefined },
};

class MemoryLedger {
  /** Labels by device, with the number of times that they changed. */
  private readonly labels = new Map<string, { labels: Map<string, string>; revision: number }>();
  private writer = '';
  private readonly snapshots = fixedSnapshots();

  readonly calls = {
    readTime: async () => STARTED_AT + performance.now(),
    readSnapshot: async (app: string, channel: string) => this.find(app, channel),
    readRevisions: async () => ({
      epoch: 0,
      revisions: new Map(this.snapshots.map(({ channelId, revision }) => [channelId, revision])),
    }),
    listChannelNames: async (heldTag: string | undefined) =>
      heldTag === 'fixed'
        ? undefined
        : { tag: 'fixed', channels: this.snapshots, isComplete: true },
    recordFirstOffer: async () => true,
    recordCheckIns: async (checkIns: readonly CheckIn[]) => this.record(checkIns),
    recordAwaited: async (checkIns: readonly CheckIn[]) => this.record(checkIns),
    recordChecks: async (
      checkIns: readonly CheckIn[],
      _kind: string,
      _bounds: object,
      _isKnown: unknown,
      writer = '',
    ) => {
      if (writer !== '') this.writer = writer;
      return { labels: this.record(checkIns), unadmitted: [], left: [] };
    },
    readWriters: async (parts: readonly number[]) =>
      parts.map((part) => ({ part, writer: this.writer, turns: 1, awaited: 0 })),
    readAwaited: async () => [],
    readLabels: async (devices: readonly Device[]) => devices.map((device) => this.read(device)),
    readLabelChanges: async () => ({ epoch: 0, newest: 0, changed: [] }),
    readActionChanges: async () => ({ epoch: 0, newest: 0, changed: [] }),
    knowsSome: async () => true,
    poolLoad: () => undefined,
    useAddress: () => undefined,
    copyTo: undefined,
  };

  private find(app: string, channel: string) {
    const ofApp = this.snapshots.filter(({ appRef, appId }) => appRef === app || appId === app);
    if (ofApp.length === 0) return 'unknown-app';
    return ofApp.find((each) => each.channel === channel) ?? 'unknown-channel';
  }

  /** Returns the labels of the devices whose check-in carried some. */
  private record(checkIns: readonly CheckIn[]) {
    const stored = [];
    for (const { appId, deviceId, at, labels } of checkIns) {
      if (labels === undefined) continue;
      const key = `${appId} ${deviceId}`;
      const known = this.labels.get(key) ?? { labels: new Map(), revision: 0 };
      for (const [name, value] of labels) known.labels.set(name, value);
      known.revision += 1;
      this.labels.set(key, known);
      stored.push({ ...this.read({ appId, deviceId }), times: timesOf(known.labels, at) });
    }
    return stored;
  }

  private read({ appId, deviceId }: Device) {
    const known = this.labels.get(`${appId} ${deviceId}`);
    const labels = known?.labels ?? NO_LABELS;
    const revision = known?.revision ?? 0;
    return { appId, deviceId, labels, times: timesOf(labels, 0), revision, isRecorded: true };
  }
}

function timesOf(labels: ReadonlyMap<string, string>, at: number): ReadonlyMap<string, number> {
  return new Map([...labels.keys()].map((name) => [name, at]));
}

/** Opens the ledger, in place of the build's function of this name. */
export async function openLedger(): Promise<object> {
  const idle = Object.entries(AT_REST).map(([name, answer]) => [name, async () => answer]);
  return { ...Object.fromEntries(idle), ...new MemoryLedger().calls };
}
