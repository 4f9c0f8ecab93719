// Reads for the console except those of the fleet: keys, apps, channels, releases and labels of an
// organization.

import type {
  AppOverview,
  AuditPage,
  ChannelDetail,
  ChannelReleases,
  Found,
  LabelCounts,
  ReleaseDetail,
} from '../contract/console.ts';
import { isFailure, type Outcome } from '../contract/failure.ts';
import { isoTime } from '../contract/iso-time.ts';
import type { ListedChannel, ListedKey } from '../contract/resource.ts';
import type { AuditFilter, ReleaseFilter } from '../store/console-ledger.ts';
import type { Ledger } from '../store/ledger.ts';

const DAY_MS = 86_400_000;

type App = { readonly id: string; readonly ref: string };

export class ViewConsole {
  private readonly ledger: Ledger;
  private readonly address: () => string;

  /** `address` returns the base URL of the service, without a slash at its end. */
  constructor(ledger: Ledger, address: () => string) {
    this.ledger = ledger;
    this.address = address;
  }

  /** Returns a page of the organization's audit, newest first. */
  listAudit(
    organizationId: string,
    filter: AuditFilter,
  ): Promise<Outcome<AuditPage, 'unknownOrganization'>> {
    return this.ledger.listAudit(organizationId, filter);
  }

  listKeys(organizationId: string): Promise<readonly ListedKey[]> {
    return this.ledger.listKeys(organizationId);
  }

  listApps(organizationId: string, nowMs: number): Promise<readonly AppOverview[]> {
    return this.ledger.listAppOverviews(organizationId, isoTime(nowMs - DAY_MS));
  }

  /** Searches the organization for what somebody types. */
  search(organizationId: string, text: string): Promise<Found> {
    return this.ledger.search(organizationId, text);
  }

  /** Returns the app's channels with their settings, by name. */
  async listChannels(
    organizationId: string,
    app: App,
  ): Promise<Outcome<{ readonly channels: readonly ListedChannel[] }, 'unknownApp'>> {
    const channels = await this.ledger.listChannels(organizationId, app.id);
    return isFailure(channels) ? channels : { channels };
  }

  /** Returns the channel's policy with its numbers of devices. */
  async readChannel(
    app: App,
    name: string,
    nowMs: number,
  ): Promise<Outcome<ChannelDetail, 'unknownChannel'>> {
    const channel = await this.ledger.readChannel(app, name);
    if (isFailure(channel)) return channel;
    const { total, seen } = await this.ledger.countSeen(app.id, name, [isoTime(nowMs - DAY_MS)]);
    const downloadUrl = `${this.address()}/download/${app.ref}/${name}`;
    return { ...channel, devices: total, devicesDay: seen[0] ?? 0, downloadUrl };
  }

  /** Returns a page of the channel's releases, highest version first; an empty list has one page. */
  async listReleases(
    app: App,
    channel: string,
    wanted: ReleaseFilter,
  ): Promise<Outcome<ChannelReleases, 'unknownChannel'>> {
    const found = await this.ledger.listChannelReleases(app.id, channel, wanted);
    if (isFailure(found)) return found;
    const { page, perPage } = wanted;
    return { ...found, page, pageCount: Math.max(1, Math.ceil(found.total / perPage)) };
  }

  /** Returns a release with the numbers of its devices and its history. */
  readRelease(
    app: App,
    channel: string,
    canonicalVersion: string,
  ): Promise<Outcome<ReleaseDetail, 'unknownChannel' | 'unknownRelease'>> {
    return this.ledger.readReleaseDetail(app, channel, canonicalVersion);
  }

  countLabels(app: App): Promise<LabelCounts> {
    return this.ledger.countLabels(app.id);
  }
}
