// Start page of an app: redirects to its first channel, or to its fleet when it has none.

import type { AppOverview } from '../../contract/console.ts';
import { consolePath } from '../format/console-path.ts';
import { Redirect } from './redirect.tsx';

/** Redirects to the app's first channel or fleet. */
export function AppIndex({ app }: { app: AppOverview }) {
  const main = app.channels.find(({ name }) => name === 'stable') ?? app.channels[0];
  const to =
    main === undefined ? consolePath.fleet(app.ref) : consolePath.channel(app.ref, main.name);
  return <Redirect to={to} />;
}
