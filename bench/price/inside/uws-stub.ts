// Stands in the place of uWebSockets.js in a build that is measured: remembers the handlers of each
// application, and listens nowhere.

/** Handler as a build registers it. */
export type StubHandler = (res: unknown, req: unknown) => void;

export type StubRoute = {
  readonly method: string;
  readonly pattern: string;
  readonly handler: StubHandler;
};

/** Routes of all applications, in the order of their registration. */
export const routes: StubRoute[] = [];

const SOCKET = {};
const PORT = 80;

/** A response of its own kind: builds change what all of a kind have. */
class UpgradedResponse {
  upgrade(): void {
    // The server calls `open` next.
  }
}

/** WebSockets as a build registers them. */
type StubBehaviour = {
  upgrade(res: object, req: object, context: object): void;
  open(webSocket: object): void;
};

class StubApp {
  private behaviour: StubBehaviour | undefined;

  get(pattern: string, handler: StubHandler): this {
    return this.add('get', pattern, handler);
  }

  head(pattern: string, handler: StubHandler): this {
    return this.add('head', pattern, handler);
  }

  any(pattern: string, handler: StubHandler): this {
    return this.add('any', pattern, handler);
  }

  filter(): this {
    return this;
  }

  ws(_pattern: string, behaviour: StubBehaviour): this {
    this.behaviour = behaviour;
    return this;
  }

  /**
   * Calls back at once, as the package does; the callback is its last argument. A build that listens for
   * WebSockets gets one: it opens one to itself at its start.
   */
  listen(...args: readonly unknown[]): this {
    (args.at(-1) as (socket: object) => void)(SOCKET);
    this.behaviour?.upgrade(new UpgradedResponse(), { getHeader: () => '' }, {});
    this.behaviour?.open({ getBufferedAmount: () => 0 });
    return this;
  }

  close(): this {
    return this;
  }

  private add(method: string, pattern: string, handler: StubHandler): this {
    routes.push({ method, pattern, handler });
    return this;
  }
}

// The names are those of the package.
// biome-ignore-start lint/style/useNamingConvention: see above
export const App = (): StubApp => new StubApp();
export const us_socket_local_port = (): number => PORT;
export const us_listen_socket_close = (): void => undefined;
// biome-ignore-end lint/style/useNamingConvention: see above
