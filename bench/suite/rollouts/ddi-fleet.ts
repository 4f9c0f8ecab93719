// Fleet of gateways that speak DDI, half of them SWUpdate: each wakes up by itself until the fleet ends.

import { Agent } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { ask } from '../../../test/support/http-ask.ts';
import { seededRandom } from '../../random.ts';
import { type DdiClient, DdiGateway, type DdiReply, type DdiWorld } from './ddi-gateway.ts';

/** Client addresses that the devices are behind, in equal parts. */
export const ADDRESSES = 1000;
/** Connections of the proxy in front of the service, which keeps them. */
const CONNECTIONS_MAX = 256;
/** Time after which the proxy closes an idle connection: the service would do so while a request comes. */
const IDLE_MS = 4000;
const SEED = 7;

export class DdiFleet {
  readonly gateways: readonly DdiGateway[];
  private isOver = false;

  constructor(
    devices: number,
    version: string,
    private readonly world: DdiWorld,
  ) {
    this.gateways = Array.from({ length: devices }, (_, index) => {
      const client: DdiClient = index % 2 === 0 ? 'SWUpdate' : 'rauc-hawkbit-updater';
      const identity = { id: `gateway-${index}`, client, address: addressOf(index) };
      return new DdiGateway(world, identity, version);
    });
  }

  /** Starts all devices within a time; resolves once each has ended, rejects with the first bug. */
  async live(startMs: number): Promise<void> {
    await Promise.all(this.gateways.map((gateway) => this.liveOne(gateway, startMs)));
  }

  /** Lets each device end before it wakes up again. */
  end(): void {
    this.isOver = true;
  }

  countOn(version: string): number {
    return this.gateways.filter((gateway) => gateway.version === version).length;
  }

  private async liveOne(gateway: DdiGateway, startMs: number): Promise<void> {
    await this.world.pause(startMs * this.world.random());
    while (!this.isOver) await this.world.pause(await gateway.wake());
  }
}

/** Returns one of the client addresses; the devices of one are neither all good nor of one client. */
function addressOf(index: number): string {
  const place = Math.floor(index / 2) % ADDRESSES;
  return `10.1.${Math.floor(place / 250)}.${1 + (place % 250)}`;
}

/** Time, chance and requests of a fleet that is behind one proxy of a service. */
export function realWorld(url: string, channel: string, token: string) {
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS_MAX, timeout: IDLE_MS });
  const request: DdiWorld['ask'] = ({ client, address }, method, path, body) => {
    const headers = {
      'content-type': 'application/json',
      'user-agent': client === 'SWUpdate' ? 'libcurl-agent/1.0' : 'rauc-hawkbit-c-agent/1.0',
      'x-forwarded-for': address,
      authorization: `GatewayToken ${token}`,
    };
    const to = path.startsWith('http:') ? path : `${url}/ddi/${channel}/${path}`;
    const more = body === undefined ? {} : { body: JSON.stringify(body) };
    return ask(to, { method, headers, agent, ...more }) satisfies Promise<DdiReply>;
  };
  return {
    ...{ now: () => performance.now(), random: seededRandom(SEED), ask: request },
    pause: (ms: number) => sleep(ms, undefined, { ref: false }),
    end: () => agent.destroy(),
  };
}
