// Entry point of the service. It imports nothing that another Node could not load, and says which one is
// needed before anything is read or opened.

import { parseArgs } from 'node:util';
import { requireNode } from './node/required-node.ts';
import { build } from './node/version.ts';

const USAGE = `Usage: node dist/main.js

Runs the service until a signal stops it. Its settings are environment variables:
docs/operating/settings.md lists them, and \`sluice doctor\` says what is wrong with them.
\`sluice --help\` lists the commands.

  --version  print the version
  --help     print this
`;

const OPTIONS = { version: { type: 'boolean' }, help: { type: 'boolean', short: 'h' } } as const;

function readOptions(): { readonly version?: boolean; readonly help?: boolean } {
  try {
    return parseArgs({ options: OPTIONS }).values;
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    process.stderr.write(`sluice: ${reason} (run with --help for the usage)\n`);
    process.exit(2);
  }
}

const options = readOptions();
if (options.version) {
  const { version, commit } = build();
  process.stdout.write(`${version} (${commit})\n`);
} else if (options.help) process.stdout.write(USAGE);
else {
  requireNode();
  const { serve } = await import('./node/processes/serve.ts');
  await serve();
}
