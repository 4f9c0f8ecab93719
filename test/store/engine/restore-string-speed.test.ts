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

test('V8 keeps the methods of strings in its slow form once a class extends String', async () => {
  await expect(areStringsQuick('class Text extends String {}')).resolves.toBe(false);
});

test('what is loaded before it or after it, strings are quick', async () => {
  const quicken = `(${loading('store/redis/commands.js')}).restoreStringSpeed()`;
  await expect(areStringsQuick(`class A extends String {} ${quicken}`)).resolves.toBe(true);
  await expect(areStringsQuick(`${quicken}; class A extends String {}`)).resolves.toBe(true);
});

test('with all that the service loads they are quick', async () => {
  await expect(areStringsQuick(loading('node/processes/start-service.js'))).resolves.toBe(true);
});
