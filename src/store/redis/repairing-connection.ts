// Connection that removes keys with a wrong value type, which another program has written; they would fail
// every call for ever. It then repeats the failed command, which is safe for a script that stopped at such a
// value.

import { Unavailable } from '../../contract/store-fault.ts';
import { type KeyType, SCRIPTS, type Script } from './commands.ts';
import type { MovableConnection } from './connection.ts';

/** Removed key, the type of its value, and the type that the engine needs. */
export type RemovedKey = { readonly key: string; readonly found: string; readonly wanted: KeyType };

/** Wraps a connection; calls `onRemoved` for every removed key. */
export function repairingConnection(
  connection: MovableConnection,
  onRemoved: (removed: RemovedKey) => void,
): MovableConnection {
  async function repaired<Answer>(
    wanted: KeyType | undefined,
    keys: readonly string[],
    call: () => Promise<Answer>,
  ): Promise<Answer> {
    try {
      return await call();
    } catch (error) {
      if (wanted === undefined || !isOfWrongType(error)) throw error;
      const calls = keys.map((key) => ({ key, args: [wanted] }));
      const found = await connection.runEach(SCRIPTS.removeWrongTypes, calls);
      for (const [index, key] of keys.entries()) {
        if (found[index] !== '') onRemoved({ key, found: String(found[index]), wanted });
      }
      return call();
    }
  }

  const ofScript = <Answer>({ type }: Script, key: string, call: () => Promise<Answer>) =>
    repaired(type, [key], call);
  const keysOf = (calls: readonly { readonly key: string }[]) => calls.map(({ key }) => key);

  return {
    ...connection,
    get session() {
      return connection.session;
    },
    run: (script, key, ...args) =>
      ofScript(script, key, () => connection.run(script, key, ...args)),
    runForBytes: (script, key, ...args) =>
      ofScript(script, key, () => connection.runForBytes(script, key, ...args)),
    runWithBytes: (script, key, args, bytes) =>
      ofScript(script, key, () => connection.runWithBytes(script, key, args, bytes)),
    runAll: (script, calls) =>
      repaired(script.type, keysOf(calls), () => connection.runAll(script, calls)),
    runEach: (script, calls) =>
      repaired(script.type, keysOf(calls), () => connection.runEach(script, calls)),
    runPacked: (script, calls) =>
      repaired(script.type, calls.keys, () => connection.runPacked(script, calls)),
    readField: (key, field) => repaired('hash', [key], () => connection.readField(key, field)),
    readFields: (key, fields) => repaired('hash', [key], () => connection.readFields(key, fields)),
    writeFields: (key, fields) =>
      repaired('hash', [key], () => connection.writeFields(key, fields)),
  };
}

/** Returns whether Redis refused a value because of its type; scripts wrap that error in their own. */
function isOfWrongType(error: unknown): boolean {
  const { cause } = error instanceof Unavailable ? error : {};
  return cause instanceof Error && cause.message.includes('WRONGTYPE');
}
