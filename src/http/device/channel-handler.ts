// Handlers of public addresses that are answered from a channel's catalog and make no decision: limited as
// every device address, and with refusals that no cache may keep.

import { type Failure, failUntil, isFailure } from '../../contract/failure.ts';
import type { Catalog } from '../../domain/decision/catalog.ts';
import type { Catalogs } from '../../serving/catalogs.ts';
import type { Exchange, Handler } from '../exchange.ts';
import { failureReply, type HeaderPair, NO_STORE, type Reply } from '../reply.ts';
import type { DeviceGate } from './device-gate.ts';

export type ChannelHandlerDependencies = {
  readonly catalogs: Pick<Catalogs, 'find'>;
  readonly gate: Pick<DeviceGate, 'limitExchange'>;
  /** Headers of every refusal, beside that no cache may keep it. */
  readonly refusalHeaders?: readonly HeaderPair[];
};

/** Finds the catalog that the address names. */
type FindCatalog = () => Promise<Catalog | Failure>;

const RETRY_MS = 1000;

/**
 * Builds the handler of a path with `:appRef` and `:channel`. `answer` is given the function that finds the
 * catalog, so that it may refuse what else the address tells before that is looked up.
 */
export function channelHandler(
  { catalogs, gate, refusalHeaders = [] }: ChannelHandlerDependencies,
  answer: (exchange: Exchange, find: FindCatalog) => Promise<Reply | Failure>,
): Handler {
  return async (exchange) => {
    const limited = await gate.limitExchange(exchange);
    const outcome = limited ?? (await answer(exchange, () => findCatalog(catalogs, exchange)));
    if (!isFailure(outcome)) return outcome;
    const reply = failureReply(outcome);
    // What is unknown now may exist a moment later.
    return { ...reply, headers: [...(reply.headers ?? []), ...NO_STORE, ...refusalHeaders] };
  };
}

async function findCatalog(
  catalogs: Pick<Catalogs, 'find'>,
  { params }: Exchange,
): Promise<Catalog | Failure> {
  const slot = await catalogs.find(params.get('appRef') ?? '', params.get('channel') ?? '');
  if (isFailure(slot)) return slot;
  // A slot is empty when its channel was evicted just now.
  return slot.catalog ?? failUntil('unavailable', RETRY_MS);
}
