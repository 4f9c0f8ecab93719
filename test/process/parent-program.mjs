// Parent under test: it starts a child, prints the child's process id, lets it block, and ends.

// Taken from the build, because plain Node.js does not run the sources.
const built = new URL('../../dist/process/child-process.js', import.meta.url);
const { ChildService } = await import(built.href);

const service = new ChildService({
  name: 'the child',
  program: {
    modulePath: new URL('child-program.mjs', import.meta.url).pathname,
    args: ['work'],
    options: { execArgv: [], stdio: ['ignore', 'ignore', 'inherit', 'ipc'] },
  },
  stopMsMax: 5000,
  answer: async () => undefined,
  onEnd: () => undefined,
});
await service.start();
console.log(await service.child.call({ kind: 'process id' }));
void service.child.call({ kind: 'block' });
// The channel is written to in order: once this call is sent, the child has the one before.
setImmediate(() => process.exit(0));
