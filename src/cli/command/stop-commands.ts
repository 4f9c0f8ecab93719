// Commands that stop all that is published, and let it go on.

import type { Command } from 'commander';
import type { ResumedStop, Stop } from '../../contract/resource.ts';
import { asking, type Connect, send } from '../call/asking.ts';

/** Adds the commands, which call the management API. */
export function addStopCommands(program: Command, connect: Connect): void {
  const command = program
    .command('stop')
    .description('pause all that an app has published, with SLUICE_KEY')
    .requiredOption('--app <ref>', 'app')
    .option('--channel <name>', 'only what is published on this channel')
    .option('--reason <text>', 'why, for the audit');
  asking(command, connect, (body) => send('POST', 'stop', body), { text: stoppedText });
  const resume = program
    .command('resume <stop>')
    .description('publish again what a stop has paused, with SLUICE_KEY');
  asking(resume, connect, (_options, [stop]) => send('POST', 'resume', { stop }), {
    text: resumedText,
  });
}

function stoppedText({ stop: { id, releases } }: { readonly stop: Stop }): string {
  if (releases.length === 0) return 'Nothing is published: nothing is stopped.';
  const paused = releases.map(({ channel, version }) => `paused  ${channel} ${version}`);
  return [...paused, '', `To let them go on: sluice resume ${id}`].join('\n');
}

function resumedText({ released, changed }: ResumedStop): string {
  const lines = [
    ...released.map(({ channel, version }) => `published  ${channel} ${version}`),
    ...changed.map(({ channel, version, reason }) => `left       ${channel} ${version}: ${reason}`),
  ];
  return lines.length === 0 ? 'The stop has paused nothing.' : lines.join('\n');
}
