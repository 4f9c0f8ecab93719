// The part of autocannon that the benchmarks use; the package brings no types.

declare module 'autocannon' {
  type Options = {
    readonly url: string;
    readonly connections: number;
    /** Seconds. */
    readonly duration: number;
    readonly headers?: Readonly<Record<string, string>>;
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
