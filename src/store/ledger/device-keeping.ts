// How closely the ledger keeps the devices.

export type DeviceKeeping = {
  /** How much the `lastSeen` of a device may be behind, in milliseconds. */
  readonly freshnessMs: number;
  /** Number of version changes that are kept of each device, at most 100. */
  readonly history: number;
};

export const USUAL_KEEPING: DeviceKeeping = { freshnessMs: 300_000, history: 10 };
