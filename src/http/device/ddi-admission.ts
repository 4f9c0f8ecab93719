// What every request of a device that speaks DDI passes (docs/contract.md 34.7): its address, the channel,
// the credential, the limit, and then what the address says of the device. Nothing of it waits while the
// channel is served and the credential is known.

import {
  type Failure,
  fail,
  failUntil,
  invalidField,
  isFailure,
  type Outcome,
} from '../../contract/failure.ts';
import { LIMIT } from '../../contract/limit.ts';
import { isFoldedAway, isLongerThan, isStorable } from '../../contract/text.ts';
import { refuseArtifactName } from '../../domain/decision/artifact/artifact.ts';
import { hashText } from '../../domain/decision/cohort.ts';
import type { ServingSnapshot } from '../../domain/decision/serving-snapshot.ts';
import { parseVersion } from '../../domain/decision/version.ts';
import { mistakenIdIn } from '../../domain/fleet/mistaken-id.ts';
import type { DdiCredentials } from '../../fleet/ddi-credentials.ts';
import type { CatalogSlot } from '../../serving/catalog-slot.ts';
import type { Catalogs } from '../../serving/catalogs.ts';
import type { DdiAsker, DdiPlace } from '../../serving/ddi-queries.ts';
import { type DdiAddress, type DdiResource, readDdiAddress } from '../../updater/ddi.ts';
import { failureReply, type HeaderPair, type Reply, unstored } from '../transport/reply.ts';
import { decodeSegment } from '../transport/router.ts';
import type { DeviceGate } from './device-gate.ts';

export type DdiAdmissionDependencies = {
  readonly catalogs: Pick<Catalogs, 'peek' | 'find'>;
  readonly credentials: Pick<DdiCredentials, 'judge'>;
  readonly gate: Pick<DeviceGate, 'limitActions'>;
};

/** Address of a device with what it asks for. */
export type DdiAsked = { readonly address: DdiAddress; readonly resource: DdiResource };

/** A device that is answered. */
export type AdmittedDevice = {
  readonly place: DdiPlace;
  readonly slot: CatalogSlot;
  readonly appId: string;
  readonly appRef: string;
  readonly deviceId: string;
  /** Whether it has shown a token of its own. */
  readonly isItself: boolean;
};

/** An outcome that may be known at once. */
type Soon<Value> = Value | Promise<Value>;
type Found = Pick<AdmittedDevice, 'slot'> & {
  readonly app: string;
  readonly channel: string;
  readonly snapshot: ServingSnapshot;
};
type Request = {
  /** Segment of the address that should be the id. */
  readonly controllerId: string;
  /** Id of the device, decoded; undefined if it is none. */
  readonly id: string | undefined;
  readonly authorization: string;
  readonly isReport: boolean;
};

const METHODS: Readonly<Record<DdiResource['kind'], string>> = {
  poll: 'GET',
  action: 'GET',
  cancel: 'GET',
  attributes: 'PUT',
  feedback: 'POST',
  cancelFeedback: 'POST',
};
const RETRY_MS = 1000;
const UNAUTHORIZED_HEADERS = [['WWW-Authenticate', 'TargetToken']] as const;
const OF_DEVICE = /^targettoken /i;

/** Reads what a request asks for; returns the refusal of an address or a method that is none. */
export function readAsked(path: string, method: string): DdiAsked | Reply {
  const address = readDdiAddress(path);
  if (address === undefined) return ddiRefusal(fail('notFound'));
  const { resource } = address;
  if (resource === undefined) return ddiRefusal(fail('unknownFile'));
  const allowed = METHODS[resource.kind];
  if (allowed === method) return { address, resource };
  const allow = allowed === 'GET' ? 'GET, HEAD' : allowed;
  return ddiRefusal(fail('methodNotAllowed'), [['Allow', allow]]);
}

/** Returns the answer of a refusal, which no cache may store. */
export function ddiRefusal(failure: Failure, more: readonly HeaderPair[] = []): Reply {
  const reply = unstored(failureReply(failure));
  const wanted = failure.failure === 'deviceUnauthorized' ? UNAUTHORIZED_HEADERS : [];
  return { ...reply, headers: [...(reply.headers ?? []), ...wanted, ...more] };
}

export class DdiAdmission {
  constructor(private readonly dependencies: DdiAdmissionDependencies) {}

  /**
   * Finds the channel, judges the header `Authorization`, and counts the request, in this order; at once
   * where nothing has to be waited for.
   */
  admit(
    { app: appText, channel: channelText, controllerId }: DdiAddress,
    authorization: string,
    isReport: boolean,
  ): Soon<Outcome<AdmittedDevice>> {
    const [app, channel] = [decodeSegment(appText), decodeSegment(channelText)];
    if (app === undefined) return fail('unknownApp');
    if (channel === undefined) return fail('unknownChannel');
    const { catalogs } = this.dependencies;
    const text = decodeSegment(controllerId);
    const id = text === undefined || !isDeviceId(text) ? undefined : text;
    const request = { controllerId, id, authorization, isReport };
    return then(catalogs.peek(app, channel) ?? catalogs.find(app, channel), (slot) => {
      if (isFailure(slot)) return slot;
      const snapshot = slot.catalog?.snapshot;
      // The slot is empty if its channel has just been evicted.
      if (snapshot === undefined) return failUntil('unavailable', RETRY_MS);
      return this.judge({ app, channel, slot, snapshot }, request);
    });
  }

  private judge(found: Found, request: Request): Soon<Outcome<AdmittedDevice>> {
    const { ddi, ddiAuth, appId } = found.snapshot;
    if (ddi === null || ddiAuth === null) return fail('unknownChannel');
    if (ddiAuth === 'open') return this.count(found, ddi, request);
    const { id = '', authorization } = request;
    return then(this.dependencies.credentials.judge(appId, id, authorization), (judged) => {
      if (judged === 'invalid') return fail('deviceUnauthorized');
      if (judged === 'unknown') return failUntil('unavailable', RETRY_MS);
      return this.count(found, ddi, request);
    });
  }

  private count(
    { app, channel, slot, snapshot }: Found,
    settings: DdiPlace['settings'],
    { id, controllerId, authorization, isReport }: Request,
  ): Soon<Outcome<AdmittedDevice>> {
    const { appId, appRef, ddiAuth } = snapshot;
    return then(this.dependencies.gate.limitActions(id ?? controllerId, isReport), (limited) => {
      if (limited !== undefined) return limited;
      if (id === undefined) return invalidField('controllerId', 'Not an id of a device');
      const isItself = ddiAuth === 'token' && OF_DEVICE.test(authorization);
      return { place: { app, channel, settings }, slot, appId, appRef, deviceId: id, isItself };
    });
  }
}

/** Goes on with a value, at once if it is there. */
function then<Value, Next>(value: Soon<Value>, next: (value: Value) => Soon<Next>): Soon<Next> {
  return value instanceof Promise ? value.then(next) : next(value);
}

/** Reads what an address says of its device; 400 that names a wrong part. */
export function askerOf(
  { machine }: DdiAddress,
  { deviceId }: AdmittedDevice,
  said: Pick<DdiAsker, 'network' | 'isRauc'>,
): Outcome<DdiAsker> {
  const hash = hashText(deviceId);
  const { network, isRauc } = said;
  if (machine.length === 0) {
    return {
      deviceId,
      hash,
      network,
      isRauc,
      platform: undefined,
      arch: undefined,
      version: undefined,
    };
  }
  const [platform, arch, versionText] = machine.map(decodeSegment);
  if (platform === undefined || arch === undefined) {
    return invalidField('platform', 'Malformed percent-encoding');
  }
  const refused = refuseArtifactName('platform', platform) ?? refuseArtifactName('arch', arch);
  if (refused !== undefined) return refused;
  const version = parseVersion(versionText ?? '');
  if (machine.length > 2 && version === undefined)
    return invalidField('version', 'Invalid version');
  return { deviceId, hash, network, isRauc, platform, arch, version };
}

function isDeviceId(text: string): boolean {
  const isShort = text !== '' && !isLongerThan(text, LIMIT.deviceIdLengthMax);
  return isShort && isStorable(text) && !isFoldedAway(text) && mistakenIdIn(text) === undefined;
}
