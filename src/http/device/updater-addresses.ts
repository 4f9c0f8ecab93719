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
} from '../../serving/check-query.ts';
import type { AskingClient, Updater, UpdaterFailureKind } from '../../updater/updater.ts';
import { decodeSegment } from '../router.ts';
import { type AddressParts, AddressPattern } from './address-pattern.ts';
import { GenerationalCache } from './generational-cache.ts';

/** Kinds of refusal of an address. */
type AddressFailureKind = 'notFound' | UpdaterFailureKind;

/** Maximum number of cached scopes. Clients choose what they ask for, hence a bound. */
const SCOPES_MAX = 10_000;
const VERSION = 'version';

export class UpdaterAddresses<Item extends Candidate, Name extends string> {
  readonly pattern: AddressPattern;
  private readonly updater: Updater<Item, Name>;
  /**
   * Cached scopes by the part of an address before the version, and by what the client tells beside it. They
   * save reading that part for a version that is seen for the first time, and give all versions the same
   * scope.
   */
  private readonly scopes = new GenerationalCache<CheckScope<Item>>(SCOPES_MAX);

  constructor(updater: Updater<Item, Name>) {
    this.updater = updater;
    this.pattern = new AddressPattern(updater.path);
  }

  /** Returns the query of an address; 404 when it has another form, 400 naming the part at fault. */
  read(path: string, client: AskingClient): Outcome<CheckQuery<Item>, AddressFailureKind> {
    const parts = this.pattern.split(path);
    return parts === undefined ? fail('notFound') : this.query(parts, client);
  }

  private query(
    { stem, version: text }: AddressParts,
    client: AskingClient,
  ): Outcome<CheckQuery<Item>, AddressFailureKind> {
    const key = keyOf(stem, client);
    const scope = this.scopes.get(key) ?? this.newScope(stem, key, client);
    if (isFailure(scope)) return scope;
    const version = text === undefined ? scope.version : readVersion(text);
    return isFailure(version) ? version : checkQuery(scope, version);
  }

  private newScope(
    stem: string,
    key: string,
    client: AskingClient,
  ): Outcome<CheckScope<Item>, AddressFailureKind> {
    const segments = this.pattern.read(stem);
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
function keyOf(stem: string, { parameters, hasAgent }: AskingClient): string {
  if (parameters.size === 0) return hasAgent ? `${stem} ` : stem;
  return `${stem} ${hasAgent ? ' ' : ''}${JSON.stringify([...parameters].sort())}`;
}

function readVersion(segment: string): Outcome<Version, 'invalid'> {
  const text = decodeSegment(segment);
  if (text === undefined) return invalidField(VERSION, 'Malformed percent-encoding');
  return parseVersion(text) ?? invalidField(VERSION, 'Invalid version');
}
