// What the console shows of an organization beside its fleet: keys, apps, channels, releases, labels.

import { isFailure, type Outcome } from '../contract/failure.ts';
import type { Channel, ListedKey } from '../contract/resource.ts';
import type {
  AppOverview,
  AuditFilter,
  AuditPage,
  ChannelReleases,
  LabelCounts,
  ReleaseDetail,
} from '../ports/console-ledger.ts';
import type { Ledger } from '../ports/ledger.ts';

const DAY_MS = 86_400_000;

type App = { readonly id: string; readonly ref: string };

export class ViewConsole {
  private readonly ledger: Ledger;

  constructor(ledger: Ledger) {
    this.ledger = ledger;
  }

  /** Newest first. 404 unknown organization. */
  listAudit(organizationId: string, filter: AuditFilter): Promise<Outcome<AuditPage>> {
    return this.ledger.listAudit(organizationId, filter);
  }

  listKeys(organizationId: string): Promise<readonly ListedKey[]> {
    return this.ledger.listKeys(organizationId);
  }

  listApps(organizationId: string, nowMs: number): Promise<readonly AppOverview[]> {
    return this.ledger.listAppOverviews(organizationId, iso(nowMs - DAY_MS));
  }

  /** 404 unknown channel. */
  async readChannel(
    app: App,
    name: string,
    nowMs: number,
  ): Promise<Outcome<Channel & { readonly devices: number; readonly devicesDay: number }>> {
    const channel = await this.ledger.readChannel(app, name);
    if (isFailure(channel)) return channel;
    const { total, seen } = await this.ledger.countSeen(app.id, name, [iso(nowMs - DAY_MS)]);
    return { ...channel, devices: total, devicesDay: seen[0] ?? 0 };
  }

  /** Highest version first; an empty list has one page. 404 unknown channel. */
  async listReleases(
    app: App,
    channel: string,
    page: number,
    perPage: number,
  ): Promise<Outcome<ChannelReleases & { readonly page: number; readonly pageCount: number }>> {
    const found = await this.ledger.listChannelReleases(app.id, channel, page, perPage);
    if (isFailure(found)) return found;
    return { ...found, page, pageCount: Math.max(1, Math.ceil(found.total / perPage)) };
  }

  /** 404 unknown channel or release. */
  readRelease(
    app: App,
    channel: string,
    canonicalVersion: string,
  ): Promise<Outcome<ReleaseDetail>> {
    return this.ledger.readReleaseDetail(app, channel, canonicalVersion);
  }

  countLabels(app: App): Promise<LabelCounts> {
    return this.ledger.countLabels(app.id);
  }
}

function iso(ms: number): string {
  return new Date(ms).toISOString();
}
