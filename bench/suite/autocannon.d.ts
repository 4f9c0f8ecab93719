// Types of the part of autocannon that the benchmarks use; the package brings none.

declare module 'autocannon' {
  type Client = { setRequests(requests: readonly { headers: Record<string, string> }[]): void };
  type Options = {
    readonly url: string;
    readonly connections: number;
    readonly duration: number;
    readonly setupClient: (client: Client) => void;
  };
  type Result = { requests: { average: number }; non2xx: number; errors: number };
  function autocannon(options: Options): Promise<Result>;
  export = autocannon;
}
