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

class StubApp {
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

  /** Calls back at once, as the package does; the callback is its last argument. */
  listen(...args: readonly unknown[]): this {
    (args.at(-1) as (socket: object) => void)(SOCKET);
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
