// Tests that strings are as fast in the service as V8 can make them, whatever its packages do when they load.

import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

const run = promisify(execFile);

/** Whether V8 holds the methods of strings in its quick form, in a process that ran this code. */
async function areStringsQuick(code: string): Promise<boolean> {
  const report = 'console.log(%HasFastProperties(String.prototype)); process.exit();';
  const args = ['--allow-natives-syntax', '--input-type=module', '--eval', `${code};${report}`];
  const { stdout } = await run(process.execPath, args);
  return stdout.trim() === 'true';
}

function loading(path: string): string {
  return `await import(${JSON.stringify(new URL(`../../../dist/${path}`, import.meta.url).href)})`;
}

test('a class that extends String makes them slow, and what is loaded before or after it quick', async () => {
  const slow = 'class Text extends String {}';
  const quicken = `(${loading('store/redis/commands.js')}).restoreStringSpeed()`;
  expect(await areStringsQuick(slow)).toBe(false);
  expect(await areStringsQuick(`${slow}; ${quicken}`)).toBe(true);
  expect(await areStringsQuick(`${quicken}; ${slow}`)).toBe(true);
});

test('with all that the service loads they are quick', async () => {
  expect(await areStringsQuick(loading('node/processes/start-service.js'))).toBe(true);
});
