// Administration for the console and the command line: organizations, apps, channels and keys. Changes of
// what a channel serves are propagated like any other.

import { createBearerSecret } from '../access/api-keys.ts';
import type {
  AppOverview,
  ChannelDetail,
  ChannelReleases,
  IssuedKey,
  ReleaseDetail,
} from '../contract/console.ts';
import { fail, isFailure, type Outcome } from '../contract/failure.ts';
import type { App, Channel, ListedChannel, Organization } from '../contract/resource.ts';
import { isoTime } from '../contract/text.ts';
import type { StandingReader } from '../serving/read-standings.ts';
import type { KeyLimits, ReleaseFilter } from '../store/console-ledger.ts';
import type { Ledger } from '../store/ledger.ts';
import type { Actor, Changed, OwnedApp } from '../store/ledger-terms.ts';
import type { PropagateChange } from './propagate-change.ts';

export class Administer {
  /** `areOrganizationsOpen`: whether every account may create organizations, not only the operator. */
  constructor(
    private readonly ledger: Ledger,
    private readonly propagate: PropagateChange,
    private readonly areOrganizationsOpen: boolean,
  ) {}

  /** Creates an organization; the account that creates it becomes its owner. */
  async createOrganization(name: string, actor: Actor): Promise<Outcome<Organization>> {
    if (!this.areOrganizationsOpen && actor.kind !== 'admin-token') {
      return fail('forbidden', 'Only the operator may create organizations');
    }
    return this.ledger.createOrganization(name, actor);
  }

  /** Creates an app with its channels. */
  async createApp(app: Parameters<Ledger['createApp']>[0], actor: Actor): Promise<Outcome<App>> {
    return this.propagating(await this.ledger.createApp(app, actor), actor);
  }

  /** Adds a channel to an app, given by ref or id. */
  async createChannel(app: string, name: string, actor: Actor): Promise<Outcome<Channel>> {
    return this.propagating(await this.ledger.createChannel(app, name, actor), actor);
  }

  /** Creates a key. Only this answer contains its secret. */
  async createKey(
    organizationId: string,
    name: string,
    limits: KeyLimits,
    actor: Actor,
  ): Promise<Outcome<IssuedKey>> {
    const { secret, prefix, hash } = createBearerSecret('sluice');
    const key = await this.ledger.createKey(
      { ...limits, organizationId, name, prefix, secretHash: hash },
      actor,
    );
    return isFailure(key) ? key : { ...key, secret };
  }

  private async propagating<Value>(
    outcome: Outcome<Changed<Value>>,
    { requestId }: Actor,
  ): Promise<Outcome<Value>> {
    if (isFailure(outcome)) return outcome;
    await this.propagate(outcome.changed, requestId);
    return outcome.value;
  }
}

// Reads of the console that need more than the ledger: apps, channels and releases with their standings.

const DAY_MS = 86_400_000;

export class ViewConsole {
  /** `address` returns the base URL of the service, without a trailing slash. */
  constructor(
    private readonly ledger: Ledger,
    private readonly standings: StandingReader,
    private readonly address: () => string,
  ) {}

  listApps(organizationId: string, nowMs: number): Promise<readonly AppOverview[]> {
    return this.ledger.listAppOverviews(organizationId, isoTime(nowMs - DAY_MS));
  }

  /** Returns the app's channels with their settings, by name. */
  async listChannels(
    organizationId: string,
    app: Pick<OwnedApp, 'id'>,
  ): Promise<Outcome<{ readonly channels: readonly ListedChannel[] }>> {
    const channels = await this.ledger.listChannels(organizationId, app.id);
    return isFailure(channels) ? channels : { channels };
  }

  /** Returns the channel's settings with its standing, its numbers of devices and its download URL. */
  async readChannel(app: OwnedApp, name: string, nowMs: number): Promise<Outcome<ChannelDetail>> {
    const channel = await this.ledger.readChannel(app, name);
    if (isFailure(channel)) return channel;
    const standings = await this.standings.read(app, name);
    if (isFailure(standings)) return standings;
    const { total, seen } = await this.ledger.countSeen(app.id, name, [isoTime(nowMs - DAY_MS)]);
    const downloadUrl = `${this.address()}/download/${app.ref}/${name}`;
    const counts = { devices: total, devicesDay: seen[0] ?? 0 };
    return { ...channel, standing: standings.channel, ...counts, downloadUrl };
  }

  /** Returns a page of the channel's releases, highest version first; an empty list has one page. */
  async listReleases(
    app: OwnedApp,
    channel: string,
    wanted: ReleaseFilter,
  ): Promise<Outcome<ChannelReleases>> {
    const found = await this.ledger.listChannelReleases(app, channel, wanted);
    if (isFailure(found)) return found;
    const standings = await this.standings.read(app, channel, found.releases);
    if (isFailure(standings)) return standings;
    const releases = found.releases.flatMap(({ change: _, ...release }) => {
      const standing = standings.releases.get(release.id);
      // A release without a standing was withdrawn meanwhile.
      return standing === undefined ? [] : [{ ...release, standing }];
    });
    const { page, perPage } = wanted;
    return { ...found, releases, page, pageCount: pageCountOf(found.total, perPage) };
  }

  /** Returns a release with its standing, its numbers of devices and its history. */
  async readRelease(
    app: OwnedApp,
    channel: string,
    canonicalVersion: string,
  ): Promise<Outcome<ReleaseDetail>> {
    const found = await this.ledger.readReleaseDetail(app, channel, canonicalVersion);
    if (isFailure(found)) return found;
    const { change, ...detail } = found;
    const { id } = detail.release;
    const standing = await this.standings.readRelease(app, channel, { id, change });
    return isFailure(standing) ? standing : { ...detail, standing };
  }
}

/** Returns the number of pages of a list; an empty list has one page. */
export function pageCountOf(total: number, perPage: number): number {
  return Math.max(1, Math.ceil(total / perPage));
}
