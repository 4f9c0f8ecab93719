// Reading of the addresses that an updater's clients request. Devices of a fleet run many versions on few
// platforms and arches, so that the part of an address before the version is read once, and cached as a
// scope.

import { fail, invalidField, isFailure, type Outcome } from '../../contract/failure.ts';
import type { Candidate } from '../../domain/decision/catalog.ts';
import { parseVersion, type Version } from '../../domain/decision/version.ts';
import {
  type CheckQuery,
  type CheckScope,
  checkQuery,
  checkScope,
} from '../../operations/serving/check-query.ts';
import type { AskingClient, Updater, UpdaterFailureKind } from '../../updater/updater.ts';
import { decodeSegment } from '../router.ts';
import { GenerationalCache } from './generational-cache.ts';

/** Kinds of refusal of an address. */
type AddressFailureKind = 'notFound' | UpdaterFailureKind;

/** Maximum number of cached scopes. Clients choose what they ask for, hence a bound. */
const SCOPES_MAX = 10_000;
const VERSION = 'version';

export class UpdaterAddresses<Item extends Candidate, Name extends string> {
  private readonly updater: Updater<Item, Name>;
  /** Names of the segments after the first, without that of the version. */
  private readonly names: readonly string[];
  private readonly hasVersion: boolean;
  /**
   * Cached scopes by the part of an address before the version, and by what the client tells beside it. They
   * save reading that part for a version that is seen for the first time, and give all versions the same
   * scope.
   */
  private readonly scopes = new GenerationalCache<CheckScope<Item>>(SCOPES_MAX);

  constructor(updater: Updater<Item, Name>) {
    const names = updater.path.split('/:').slice(1);
    this.updater = updater;
    this.hasVersion = names.at(-1) === VERSION;
    this.names = this.hasVersion ? names.slice(0, -1) : names;
  }

  /** Returns the query of an address; 404 when it has another form, 400 naming the segment at fault. */
  read(path: string, client: AskingClient): Outcome<CheckQuery<Item>, AddressFailureKind> {
    if (!this.hasVersion) return this.query(path, undefined, client);
    const end = path.lastIndexOf('/');
    return end === path.length - 1
      ? fail('notFound')
      : this.query(path.slice(0, end), path.slice(end + 1), client);
  }

  private query(
    path: string,
    versionSegment: string | undefined,
    client: AskingClient,
  ): Outcome<CheckQuery<Item>, AddressFailureKind> {
    const key = keyOf(path, client);
    const scope = this.scopes.get(key) ?? this.newScope(path, key, client);
    if (isFailure(scope)) return scope;
    const version = versionSegment === undefined ? undefined : readVersion(versionSegment);
    return isFailure(version) ? version : checkQuery(scope, version);
  }

  private newScope(
    path: string,
    key: string,
    client: AskingClient,
  ): Outcome<CheckScope<Item>, AddressFailureKind> {
    const segments = readSegments(path, this.names);
    if (isFailure(segments)) return segments;
    const { appRef = '', channel = '' } = segments;
    // `segments` has exactly the names that the updater's path has.
    const named = segments as Record<Name | 'channel', string>;
    const question = this.updater.ask(named, client);
    if (isFailure(question)) return question;
    const scope = checkScope(appRef, channel, question);
    scope.isKept = this.scopes.keep(key, scope);
    return scope;
  }
}

/** Returns the key of a scope: a path contains no space, so no other path is the same text. */
function keyOf(path: string, { parameters, hasAgent }: AskingClient): string {
  if (parameters.size === 0) return hasAgent ? `${path} ` : path;
  return `${path} ${hasAgent ? ' ' : ''}${JSON.stringify([...parameters].sort())}`;
}

/**
 * Returns the decoded segments after the first, by name; 404 when there is another number of them or an empty
 * one, 400 naming the segment whose percent-encoding is malformed.
 */
function readSegments(
  path: string,
  names: readonly string[],
): Outcome<Record<string, string>, 'notFound' | 'invalid'> {
  const raw = path.split('/').slice(2);
  if (raw.length !== names.length || raw.includes('')) return fail('notFound');
  const segments: Record<string, string> = {};
  for (const [index, name] of names.entries()) {
    const segment = decodeSegment(raw[index] ?? '');
    if (segment === undefined) return invalidField(name, 'Malformed percent-encoding');
    segments[name] = segment;
  }
  return segments;
}

function readVersion(segment: string): Outcome<Version, 'invalid'> {
  const text = decodeSegment(segment);
  if (text === undefined) return invalidField(VERSION, 'Malformed percent-encoding');
  return parseVersion(text) ?? invalidField(VERSION, 'Invalid version');
}
