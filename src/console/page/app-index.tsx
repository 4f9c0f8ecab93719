// An app's own address: its first channel, or its fleet when it has none.

import type { AppSummary } from '../api/resource.ts';
import { consolePath } from '../format/console-path.ts';
import { Redirect } from './redirect.tsx';

/** Goes on to the page that shows most of the app. */
export function AppIndex({ app }: { app: AppSummary }) {
  const main = app.channels.find(({ name }) => name === 'stable') ?? app.channels[0];
  const to =
    main === undefined ? consolePath.fleet(app.ref) : consolePath.channel(app.ref, main.name);
  return <Redirect to={to} />;
}
