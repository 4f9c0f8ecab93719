// Types of the part of autocannon that the benchmarks use; the package brings none.

declare module 'autocannon' {
  type Client = {
    /** Requests of this connection, sent in turn. */
    setRequests(requests: readonly { readonly headers: Readonly<Record<string, string>> }[]): void;
  };
  type Options = {
    readonly url: string;
    readonly connections: number;
    /** Length of the run in seconds. */
    readonly duration: number;
    /** Called with every connection before its first request. */
    readonly setupClient?: (client: Client) => void;
  };
  type Result = {
    /** Answers in each second. */
    readonly requests: { readonly average: number };
    readonly non2xx: number;
    readonly errors: number;
  };
  function autocannon(options: Options): Promise<Result>;
  export = autocannon;
}
