// Route by which a device tells that it could not install a version (docs/contract.md 27.9).

import { fail, invalidField, isFailure } from '../../contract/failure.ts';
import { LIMIT } from '../../contract/limit.ts';
import { foldPlatform, refuseArtifactName } from '../../domain/decision/artifact.ts';
import { foldArch } from '../../domain/decision/fold-arch.ts';
import { parseVersion } from '../../domain/decision/version.ts';
import { NETWORK_WORDS, writeNetwork } from '../../domain/fleet/network-words.ts';
import type { FailureReports } from '../../fleet/fleet-views.ts';
import { clientAddress } from '../client-address.ts';
import type { Exchange } from '../exchange.ts';
import type { Route } from '../router.ts';
import { failureBody } from '../shape/failure-body.ts';
import { parseBody } from '../shape/parse-shape.ts';
import { type ChannelHandlerDependencies, channelHandler } from './channel-handler.ts';
import { readDeviceIdentity } from './device-identity.ts';
import { readRequestQuery } from './request-query.ts';

export type FailureRouteDependencies = ChannelHandlerDependencies & {
  readonly failures: Pick<FailureReports, 'note'>;
  /** Number of proxies whose entries in `X-Forwarded-For` are believed. */
  readonly trustProxy: number;
};

/** Builds the route: 204 once the failure is recorded, or passed over. */
export function failureRoute(dependencies: FailureRouteDependencies): Route {
  const { failures, trustProxy } = dependencies;
  return {
    method: 'POST',
    path: '/u/:appRef/:channel/:platform/:arch/:version/failure',
    bodyBytesMax: LIMIT.failureBodyBytesMax,
    bodyBudget: 'unverified',
    handler: channelHandler(dependencies, async (exchange, find) => {
      const device = readDevice(exchange);
      if (isFailure(device)) return device;
      const body = await parseBody(exchange, failureBody);
      if (isFailure(body)) return body;
      const catalog = await find();
      if (isFailure(catalog)) return catalog;
      const { appId, channel } = catalog.snapshot;
      const forwarded = exchange.headers.get('x-forwarded-for') ?? '';
      const network = clientAddress(exchange.remoteAddress, forwarded, trustProxy);
      const words = new Int32Array(NETWORK_WORDS);
      writeNetwork(network, words);
      const { deviceId, runs, ...machine } = device;
      const { version: canonicalVersion, reason } = body;
      await failures.note(
        { appId, channel, deviceId, runs, canonicalVersion, reason, network },
        { ...machine, words },
      );
      return { status: 204 };
    }),
  };
}

function readDevice({ params, headers, queryText }: Exchange) {
  const query = readRequestQuery(queryText);
  if (isFailure(query)) return query;
  const deviceId = readDeviceIdentity(headers.get('x-service-device') ?? '') ?? query.deviceId;
  if (deviceId === undefined) return fail('invalid', 'device: Required');
  const [platform, arch] = [params.get('platform') ?? '', params.get('arch') ?? ''];
  const refusal = refuseArtifactName('platform', platform) ?? refuseArtifactName('arch', arch);
  if (refusal !== undefined) return refusal;
  const version = parseVersion(params.get('version') ?? '');
  if (version === undefined) return invalidField('version', 'Invalid version');
  const folded = foldPlatform(platform);
  return {
    ...{ deviceId, runs: version.canonical },
    ...{ platform: folded, arch: foldArch(arch, folded) },
  };
}
