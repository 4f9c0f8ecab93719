// Child process under test. Its first argument says what it does.

// Taken from the build, because plain Node.js does not run the sources.
const built = new URL('../../dist/process/child-process.js', import.meta.url);
const { ParentLink } = await import(built.href);

const behaviour = process.argv[2];
const forever = () => new Promise(() => setInterval(() => undefined, 1000));

const link = new ParentLink({
  async start() {
    if (behaviour === 'refuse') throw new Error('it does not want to');
    if (behaviour === 'crash') process.exit(3);
    if (behaviour === 'hang') await forever();
  },
  async stop() {
    if (behaviour === 'stay') await forever();
    console.log('stopped');
  },
  /** @param {{ kind: string, value: number }} call */
  async answer(call) {
    if (call.kind === 'process id') return process.pid;
    if (call.kind === 'double') return call.value * 2;
    if (call.kind === 'wait') return forever();
    if (call.kind === 'ask parent') return link.call(call.value);
    // As a database does at a write that the disk keeps waiting.
    if (call.kind === 'block') Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
    return undefined;
  },
});
await link.run();
