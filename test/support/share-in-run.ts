// Holds what the parts of one test run share. Vitest loads a global setup for every part anew, as a module of
// its own, so only the process itself can hold it.

export type Stoppable = { stop(): Promise<void> };

type Share = { readonly started: Promise<Stoppable>; users: number };

const holder = globalThis as { sluiceShares?: Map<string, Share> };
holder.sluiceShares ??= new Map();
const shares = holder.sluiceShares;

/**
 * Starts a shared thing, or takes the one that another part has started. The last part's `release` stops it.
 */
export async function shareInRun<Shared extends Stoppable>(
  name: string,
  start: () => Promise<Shared>,
): Promise<{ readonly shared: Shared; release(): Promise<void> }> {
  const share = shares.get(name) ?? { started: start(), users: 0 };
  shares.set(name, share);
  share.users += 1;
  const shared = (await share.started) as Shared;
  return {
    shared,
    async release() {
      share.users -= 1;
      if (share.users === 0) await shared.stop();
    },
  };
}
