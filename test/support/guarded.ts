// A port that a test can take away: while there is a fault, every call rejects with it.

export type Watch = { fault: Error | undefined };

/** Returns the port, whose calls are all asynchronous, with calls that reject while there is a fault. */
export function guarded<Port extends object>(port: Port, watch: Watch): Port {
  const calls = Object.entries(port).map(([name, call]) => {
    const guardedCall = async (...args: readonly unknown[]) => {
      if (watch.fault !== undefined) throw watch.fault;
      return call(...args);
    };
    return [name, guardedCall];
  });
  return Object.fromEntries(calls) as Port;
}
